/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * comms DIR, on 4 ranks: files opened and closed on communicators of many makes, each named by its members in their order:
 * half0: 2 0, half1: 3 1 (MPI_Comm_split, keys turned round), dup0 and dup1 on copies of these, quarter0…3: one rank each (a split
 * of the halves), pair: 3 1 (MPI_Comm_create), group: 0 2 (MPI_Comm_create_group), node: 0 1 2 3 (MPI_Comm_split_type), grid: 0 1 2
 * (MPI_Cart_create), graph: 0 1, world, copy (of the world), self0…3, again0 and again1: 0 1 and 2 3 (after the halves were freed).
 * Whose members the calls do not tell: either0 and either1 (MPI_Comm_create of two groups at once), merged (of an
 * intercommunicator).
 */
#include <mpi.h>
#include <stdio.h>

static const char *dir;
static int rank;

static void check(int error, const char *what)
{
	if (error == MPI_SUCCESS)
		return;
	fprintf(stderr, "comms: %s failed: %d\n", what, error);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The file DIR/NAMEn, without n where it is negative: a block of each member. */
static void use(MPI_Comm comm, const char *name, int n)
{
	char path[4096], number[16] = "";
	MPI_File file;
	int me;

	if (n >= 0)
		snprintf(number, sizeof(number), "%d", n);
	snprintf(path, sizeof(path), "%s/%s%s", dir, name, number);
	check(MPI_Comm_rank(comm, &me), "MPI_Comm_rank");
	check(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), path);
	check(MPI_File_write_at_all(file, me * (MPI_Offset)sizeof(rank), &rank, 1, MPI_INT, MPI_STATUS_IGNORE),
	      "MPI_File_write_at_all");
	check(MPI_File_close(&file), "MPI_File_close");
}

static MPI_Group group_of(int n, const int *ranks)
{
	MPI_Group world, group;

	check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
	check(MPI_Group_incl(world, n, ranks, &group), "MPI_Group_incl");
	check(MPI_Group_free(&world), "MPI_Group_free");
	return group;
}

static void groups(void)
{
	static const int pair[2] = { 3, 1 }, some[2] = { 0, 2 }, low[2] = { 0, 1 }, high[2] = { 2, 3 };
	MPI_Group group = group_of(2, pair);
	MPI_Comm comm;

	check(MPI_Comm_create(MPI_COMM_WORLD, group, &comm), "MPI_Comm_create");
	if (comm != MPI_COMM_NULL)
		use(comm, "pair", -1);
	MPI_Group_free(&group);
	group = group_of(2, some);
	if (rank == 0 || rank == 2) {
		check(MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &comm), "MPI_Comm_create_group");
		use(comm, "group", -1);
	}
	MPI_Group_free(&group);
	group = group_of(2, rank < 2 ? low : high);
	check(MPI_Comm_create(MPI_COMM_WORLD, group, &comm), "MPI_Comm_create");
	use(comm, "either", rank / 2);
	MPI_Group_free(&group);
}

static void topologies(void)
{
	static const int dims[1] = { 3 }, periods[1] = { 0 }, index[2] = { 1, 2 }, edges[2] = { 1, 0 };
	MPI_Comm comm;

	check(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm), "MPI_Cart_create");
	if (comm != MPI_COMM_NULL)
		use(comm, "grid", -1);
	check(MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &comm), "MPI_Graph_create");
	if (comm != MPI_COMM_NULL)
		use(comm, "graph", -1);
}

static void between(MPI_Comm half)
{
	MPI_Comm inter, merged;

	check(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 2 : 3, 1, &inter), "MPI_Intercomm_create");
	check(MPI_Intercomm_merge(inter, rank % 2, &merged), "MPI_Intercomm_merge");
	use(merged, "merged", -1);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&inter);
}

int main(int argc, char **argv)
{
	MPI_Comm half, dup, quarter, node, none;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	dir = argv[1];
	use(MPI_COMM_WORLD, "world", -1);
	use(MPI_COMM_SELF, "self", rank);
	check(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half), "MPI_Comm_split");
	use(half, "half", rank % 2);
	check(MPI_Comm_dup(half, &dup), "MPI_Comm_dup");
	use(dup, "dup", rank % 2);
	check(MPI_Comm_split(dup, rank, 0, &quarter), "MPI_Comm_split");
	use(quarter, "quarter", rank);
	check(MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, 0, &none), "MPI_Comm_split");
	groups();
	topologies();
	check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
	use(node, "node", -1);
	between(half);
	MPI_Comm_free(&quarter);
	MPI_Comm_free(&dup);
	MPI_Comm_free(&half);
	check(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half), "MPI_Comm_split");
	use(half, "again", rank / 2);
	check(MPI_Comm_dup(MPI_COMM_WORLD, &dup), "MPI_Comm_dup");
	use(dup, "copy", -1);
	MPI_Finalize();
	return 0;
}
