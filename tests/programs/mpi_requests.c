/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mpi_requests FILE [GO]: opens FILE; with GO makes GO.ready and waits until GO exists, 1 iwrite_at under way. Then each rank moves
 * blocks of 1000 bytes, all of which arrive:
 *   wait        2 iwrite_at and MPI_Wait: one with a status, one without
 *   threads     1 iwrite_at, waited for by another thread
 *   all         MPI_Waitall on 3 iwrite_at and 3 messages to oneself in turn, with statuses
 *   long        MPI_Waitall on 600 messages, an iwrite_at among the first: it is seen, and 88 requests are not looked at
 *   any         MPI_Waitany on 2 iwrite_at, twice, with statuses
 *   some        MPI_Testsome until 4 iread_at are done, with statuses and a message among them
 *   status      MPI_Request_get_status until 1 iread_at is done, then MPI_Wait
 *   test        MPI_Test until 1 iread_at is done
 *   testall     1000 MPI_Testall on 1 iwrite_at and a receive that nothing was sent to, then sent to, until both are done
 *   cancel      MPI_Cancel on 1 iwrite_at, then MPI_Wait
 *   free        MPI_Request_free of 1 iwrite_at
 *   never       1 iwrite_at without a wait
 * and 1000 messages to oneself, each with 2 MPI_Wait: not recorded. It prints "cancelled N": whether MPI cancelled the operation.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1000, LONG = 600, MESSAGES = 1000 };

static int rank, placed;
static char block[BLOCK], back[4][BLOCK];
static MPI_File file;

static void check(int error, const char *what)
{
	if (error == MPI_SUCCESS)
		return;
	fprintf(stderr, "mpi_requests: %s: error %d\n", what, error);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static void expect(int bytes, const MPI_Status *status, const char *what)
{
	int count;

	MPI_Get_count(status, MPI_BYTE, &count);
	if (count == bytes)
		return;
	fprintf(stderr, "mpi_requests: %s: %d bytes, not %d\n", what, count, bytes);
	MPI_Abort(MPI_COMM_WORLD, 4);
}

/* The next block of this rank's part of the file. */
static MPI_Request write_block(void)
{
	MPI_Request request;

	check(MPI_File_iwrite_at(file, (MPI_Offset)rank * 100000 + placed++ * BLOCK, block, BLOCK, MPI_BYTE, &request),
	      "iwrite_at");
	return request;
}

static MPI_Request read_block(int n, MPI_Offset offset)
{
	MPI_Request request;

	check(MPI_File_iread_at(file, offset, back[n], BLOCK, MPI_BYTE, &request), "iread_at");
	return request;
}

static void message(MPI_Request *receive, MPI_Request *send)
{
	static int in;

	check(MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, receive), "irecv");
	check(MPI_Isend(&placed, 1, MPI_INT, 0, 1, MPI_COMM_SELF, send), "isend");
}

static void wait_one_by_one(void)
{
	MPI_Request request = write_block();
	MPI_Status status;

	check(MPI_Wait(&request, &status), "wait");
	expect(BLOCK, &status, "wait");
	request = write_block();
	check(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
}

static void *wait_elsewhere(void *arg)
{
	MPI_Status status;

	check(MPI_Wait(arg, &status), "wait in a thread");
	return NULL;
}

static void wait_in_a_thread(void)
{
	MPI_Request request = write_block();
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_elsewhere, &request) || pthread_join(thread, NULL))
		check(1, "thread");
}

static void wait_for_all(void)
{
	MPI_Request requests[6 + 3];
	MPI_Status statuses[6 + 3];

	for (int i = 0; i < 3; i++) {
		requests[3 * i] = write_block();
		message(&requests[3 * i + 1], &requests[3 * i + 2]);
	}
	check(MPI_Waitall(9, requests, statuses), "waitall");
	for (int i = 0; i < 3; i++)
		expect(BLOCK, &statuses[3 * i], "waitall");
}

static void wait_for_many(void)
{
	static MPI_Request requests[LONG];

	for (int i = 0; i < LONG; i += 2)
		message(&requests[i], &requests[i + 1]);
	check(MPI_Wait(&requests[7], MPI_STATUS_IGNORE), "wait");
	requests[7] = write_block();
	check(MPI_Waitall(LONG, requests, MPI_STATUSES_IGNORE), "waitall of many");
}

static void wait_for_any(void)
{
	MPI_Request requests[] = { write_block(), MPI_REQUEST_NULL, write_block() };

	for (int i = 0; i < 2; i++) {
		MPI_Status status;
		int index;

		check(MPI_Waitany(3, requests, &index, &status), "waitany");
		expect(BLOCK, &status, "waitany");
	}
}

static void test_some(void)
{
	MPI_Request requests[6];
	MPI_Status statuses[6];
	int indices[6], n, left = 6;

	message(&requests[2], &requests[5]);
	for (int i = 0; i < 4; i++)
		requests[i < 2 ? i : i + 1] = read_block(i, (MPI_Offset)rank * 100000);
	while (left) {
		check(MPI_Testsome(6, requests, &n, indices, statuses), "testsome");
		for (int i = 0; i < n; i++)
			if (indices[i] != 2 && indices[i] != 5)
				expect(BLOCK, &statuses[i], "testsome");
		left -= n;
	}
}

static void ask(void)
{
	MPI_Request request = read_block(0, (MPI_Offset)rank * 100000);
	MPI_Status status;
	int done = 0;

	while (!done)
		check(MPI_Request_get_status(request, &done, &status), "request_get_status");
	expect(BLOCK, &status, "request_get_status");
	check(MPI_Wait(&request, &status), "wait");
	request = read_block(0, (MPI_Offset)rank * 100000);
	for (done = 0; !done;)
		check(MPI_Test(&request, &done, &status), "test");
	expect(BLOCK, &status, "test");
}

static void test_all(void)
{
	MPI_Request requests[2] = { write_block() }, send;
	MPI_Status statuses[2];
	int in, done = 0;

	check(MPI_Irecv(&in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[1]), "irecv");
	for (int i = 0; i < 1000; i++)
		check(MPI_Testall(2, requests, &done, statuses), "testall");
	check(done, "testall of what cannot be done");
	check(MPI_Isend(&placed, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &send), "isend");
	while (!done)
		check(MPI_Testall(2, requests, &done, statuses), "testall");
	expect(BLOCK, &statuses[0], "testall");
	check(MPI_Wait(&send, MPI_STATUS_IGNORE), "wait");
}

static void give_up(void)
{
	MPI_Request request = write_block();
	MPI_Status status;
	int cancelled;

	if (MPI_Cancel(&request) != MPI_SUCCESS)
		fprintf(stderr, "mpi_requests: MPI_Cancel is refused\n");
	check(MPI_Wait(&request, &status), "wait after cancel");
	MPI_Test_cancelled(&status, &cancelled);
	if (!rank)
		printf("cancelled %d\n", cancelled);
	request = write_block();
	check(MPI_Request_free(&request), "request_free");
	write_block();
}

/* The operation that began before is on a part of the file that is not checked. */
static void wait_for_go(const char *go)
{
	static char ready[4096];
	MPI_Request request;

	check(MPI_File_iwrite_at(file, 200000, block, BLOCK, MPI_BYTE, &request), "iwrite_at");
	MPI_Barrier(MPI_COMM_WORLD);
	snprintf(ready, sizeof(ready), "%s.ready", go);
	if (!rank)
		fclose(fopen(ready, "w"));
	for (int i = 0; access(go, F_OK) && i < 3000; i++)
		usleep(10000);
	check(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
}

static void only_messages(void)
{
	for (int i = 0; i < MESSAGES; i++) {
		MPI_Request receive, send;

		message(&receive, &send);
		check(MPI_Wait(&receive, MPI_STATUS_IGNORE), "wait");
		check(MPI_Wait(&send, MPI_STATUS_IGNORE), "wait");
	}
}

int main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 2 && argc != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	memset(block, 'a' + rank, BLOCK);
	check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
	check(MPI_File_set_size(file, 200000), "set_size");
	sleep(1); /* what completes requests is probed from the first call of MPI-IO on, as soon as an observer is able to */
	if (argc == 3)
		wait_for_go(argv[2]);
	wait_one_by_one();
	wait_in_a_thread();
	wait_for_all();
	wait_for_any();
	test_some();
	ask();
	test_all();
	only_messages();
	wait_for_many();
	give_up();
	sleep(1);               /* what is not waited for is done by now */
	check(MPI_File_close(&file), "close");
	MPI_Finalize();
	return 0;
}
