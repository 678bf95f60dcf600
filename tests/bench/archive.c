/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * archive write DIR CALLS RANKS FILES: an archive as ioprobe records it, of any size. Each rank makes its share of the calls, an
 * MPI_File_write_at with 15 pwrite64 below it at a time, over its share of the files. FILES beyond the calls are definitions only.
 * archive read DIR: what libotf2 alone needs to read the same files: every callback counts and returns. Prints events and
 * seconds of CPU time.
 */
#include <otf2/otf2.h>
#include <err.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK (256 * 1024)
#define OK(call) \
	do { \
		OTF2_ErrorCode code_ = (call); \
		if (code_ != OTF2_SUCCESS) \
			errx(1, "%s: %s", #call, OTF2_Error_GetName(code_)); \
	} while (0)
#define RANKS_PER_NODE 64

enum { REGION_MPIIO, REGION_POSIX };
enum { PARADIGM_MPIIO, PARADIGM_POSIX };

static uint32_t nstrings;

static OTF2_FlushType on_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	(void)data, (void)type, (void)location, (void)caller, (void) final;
	return OTF2_FLUSH;
}

static uint64_t flush_time(void *data, OTF2_FileType type, OTF2_LocationRef location)
{
	(void)data, (void)type, (void)location;
	return 0;
}

/* ---- writing ---- */

static uint32_t string(OTF2_GlobalDefWriter *defs, const char *text)
{
	OK(OTF2_GlobalDefWriter_WriteString(defs, nstrings, text));
	return nstrings++;
}

static void write_regions(OTF2_GlobalDefWriter *defs)
{
	static const char *const regions[] = { "MPI_File_write_at", "pwrite64" }, *const layers[] = { "MPI-IO", "POSIX" };
	static const char *const paradigms[] = { "MPI I/O", "POSIX I/O" };

	for (int i = 0; i < 2; i++) {
		uint32_t name = string(defs, regions[i]), layer = string(defs, layers[i]);

		OK(OTF2_GlobalDefWriter_WriteRegion(defs, i, name, name, layer, OTF2_REGION_ROLE_FILE_IO, OTF2_PARADIGM_USER, 0,
						    OTF2_UNDEFINED_STRING, 0, 0));
		OK(OTF2_GlobalDefWriter_WriteIoParadigm(defs, i, layer, string(defs, paradigms[i]),
							i ? OTF2_IO_PARADIGM_CLASS_SERIAL : OTF2_IO_PARADIGM_CLASS_PARALLEL,
							i ? OTF2_IO_PARADIGM_FLAG_OS : OTF2_IO_PARADIGM_FLAG_NONE, 0, NULL, NULL,
							NULL));
	}
	OK(OTF2_GlobalDefWriter_WriteAttribute(defs, 0, string(defs, "Offset"), 0, OTF2_TYPE_UINT64));
	OK(OTF2_GlobalDefWriter_WriteAttribute(defs, 1, string(defs, "errno"), 0, OTF2_TYPE_INT32));
}

/* Node 0 is the machine. */
static void write_tree(OTF2_GlobalDefWriter *defs, uint64_t ranks, uint64_t events)
{
	uint32_t machine = string(defs, "machine"), node = string(defs, "node"), thread = string(defs, "Master thread");
	char name[64];

	OK(OTF2_GlobalDefWriter_WriteSystemTreeNode(defs, 0, machine, machine, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	for (uint64_t i = 0; i * RANKS_PER_NODE < ranks; i++) {
		snprintf(name, sizeof(name), "node%" PRIu64, i);
		OK(OTF2_GlobalDefWriter_WriteSystemTreeNode(defs, i + 1, string(defs, name), node, 0));
	}
	for (uint64_t i = 0; i < ranks; i++) {
		snprintf(name, sizeof(name), "MPI Rank %" PRIu64, i);
		OK(OTF2_GlobalDefWriter_WriteLocationGroup(defs, i, string(defs, name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
							   i / RANKS_PER_NODE + 1, OTF2_UNDEFINED_LOCATION_GROUP));
		OK(OTF2_GlobalDefWriter_WriteLocation(defs, i, thread, OTF2_LOCATION_TYPE_CPU_THREAD, events, i));
	}
}

static void write_files(OTF2_GlobalDefWriter *defs, uint64_t files)
{
	char name[128];

	for (uint64_t i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "/scratch/project/run/output.%" PRIu64 ".dat", i);
		OK(OTF2_GlobalDefWriter_WriteIoRegularFile(defs, i, string(defs, name), 0));
		for (int layer = 0; layer < 2; layer++)
			OK(OTF2_GlobalDefWriter_WriteIoHandle(defs, 2 * i + layer, 0, i, layer, OTF2_IO_HANDLE_FLAG_NONE,
							      OTF2_UNDEFINED_COMM, layer ? 2 * i : OTF2_UNDEFINED_IO_HANDLE));
	}
}

/* One call of MPI-IO and 15 of the system below it, 3 us each. */
static uint64_t write_group(OTF2_EvtWriter *w, uint64_t t, uint64_t file, uint64_t *id, uint64_t *offset)
{
	OTF2_AttributeList *list = OTF2_AttributeList_New();
	uint64_t outer = (*id)++;

	OK(OTF2_EvtWriter_Enter(w, NULL, t, REGION_MPIIO));
	OTF2_AttributeList_AddUint64(list, 0, *offset);
	OK(OTF2_EvtWriter_IoOperationBegin(w, list, t, 2 * file, OTF2_IO_OPERATION_MODE_WRITE, OTF2_IO_OPERATION_FLAG_NONE,
					   15 * 4096, outer));
	for (int i = 0; i < 15; i++, t += 4000) {
		OK(OTF2_EvtWriter_Enter(w, NULL, t, REGION_POSIX));
		OTF2_AttributeList_AddUint64(list, 0, *offset);
		OK(OTF2_EvtWriter_IoOperationBegin(w, list, t, 2 * file + 1, OTF2_IO_OPERATION_MODE_WRITE,
						   OTF2_IO_OPERATION_FLAG_NONE, 4096, *id));
		OK(OTF2_EvtWriter_IoOperationComplete(w, NULL, t + 3000, 2 * file + 1, 4096, (*id)++));
		OK(OTF2_EvtWriter_Leave(w, NULL, t + 3000, REGION_POSIX));
		*offset += 4096;
	}
	OK(OTF2_EvtWriter_IoOperationComplete(w, NULL, t, 2 * file, 15 * 4096, outer));
	OK(OTF2_EvtWriter_Leave(w, NULL, t, REGION_MPIIO));
	OTF2_AttributeList_Delete(list);
	return t + 2000;
}

static uint64_t write_rank(OTF2_Archive *archive, uint64_t rank, uint64_t groups, uint64_t first, uint64_t files, uint64_t *id)
{
	OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(archive, rank);
	OTF2_DefWriter *d;
	uint64_t t = 1000, offset = 0;

	for (uint64_t g = 0; g < groups; g++)
		t = write_group(w, t, first + g % files, id, &offset);
	OK(OTF2_Archive_CloseEvtWriter(archive, w));
	d = OTF2_Archive_GetDefWriter(archive, rank);
	OK(OTF2_Archive_CloseDefWriter(archive, d));
	return t;
}

static int write_archive(const char *dir, uint64_t calls, uint64_t ranks, uint64_t files)
{
	static const OTF2_FlushCallbacks flush = { on_flush, flush_time };
	OTF2_Archive *archive =
		OTF2_Archive_Open(dir, "traces", OTF2_FILEMODE_WRITE, CHUNK, CHUNK, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	uint64_t groups = calls / 16 / ranks, end = 0, id = 1, share = files / ranks ? files / ranks : 1;
	OTF2_GlobalDefWriter *defs;

	if (!archive)
		errx(1, "%s: cannot create the archive", dir);
	OK(OTF2_Archive_SetFlushCallbacks(archive, &flush, NULL));
	OK(OTF2_Archive_SetSerialCollectiveCallbacks(archive));
	OK(OTF2_Archive_SetProperty(archive, "IOPROBE::RECORDING_COMPLETE", "yes", true));
	OK(OTF2_Archive_OpenEvtFiles(archive));
	OK(OTF2_Archive_OpenDefFiles(archive));
	for (uint64_t r = 0; r < ranks; r++) {
		uint64_t t = write_rank(archive, r, groups, files >= ranks ? r * share : r % files, share, &id);

		end = t > end ? t : end;
	}
	OK(OTF2_Archive_CloseEvtFiles(archive));
	OK(OTF2_Archive_CloseDefFiles(archive));
	defs = OTF2_Archive_GetGlobalDefWriter(archive);
	OK(OTF2_GlobalDefWriter_WriteClockProperties(defs, 1000000000, 0, end, OTF2_UNDEFINED_TIMESTAMP));
	string(defs, "");
	write_regions(defs);
	write_tree(defs, ranks, groups * 64);
	write_files(defs, files);
	OK(OTF2_Archive_Close(archive));
	return 0;
}

/* ---- reading ---- */

static uint64_t nevents;

static OTF2_CallbackCode count(void)
{
	nevents++;
	return OTF2_CALLBACK_SUCCESS;
}

#define HEAD OTF2_LocationRef l, OTF2_TimeStamp t, uint64_t n, void *d, OTF2_AttributeList *a
#define UNUSED (void)l, (void)t, (void)n, (void)d, (void)a

static OTF2_CallbackCode on_region(HEAD, OTF2_RegionRef region)
{
	UNUSED;
	(void)region;
	return count();
}

static OTF2_CallbackCode on_begin(HEAD, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode, OTF2_IoOperationFlag flags,
				  uint64_t bytes, uint64_t id)
{
	UNUSED;
	(void)handle, (void)mode, (void)flags, (void)bytes, (void)id;
	return count();
}

static OTF2_CallbackCode on_complete(HEAD, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t id)
{
	UNUSED;
	(void)handle, (void)bytes, (void)id;
	return count();
}

static void read_location(OTF2_Reader *reader, uint64_t location)
{
	OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
	OTF2_DefReader *defs = OTF2_Reader_GetDefReader(reader, location);
	OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, location);
	uint64_t read;

	if (!events)
		errx(1, "location %" PRIu64 " has no events", location);
	if (defs) {
		OK(OTF2_Reader_ReadAllLocalDefinitions(reader, defs, &read));
		OK(OTF2_Reader_CloseDefReader(reader, defs));
	}
	OTF2_EvtReaderCallbacks_SetEnterCallback(c, on_region);
	OTF2_EvtReaderCallbacks_SetLeaveCallback(c, on_region);
	OTF2_EvtReaderCallbacks_SetIoOperationBeginCallback(c, on_begin);
	OTF2_EvtReaderCallbacks_SetIoOperationCompleteCallback(c, on_complete);
	OK(OTF2_Reader_RegisterEvtCallbacks(reader, events, c, NULL));
	OTF2_EvtReaderCallbacks_Delete(c);
	OK(OTF2_Reader_ReadAllLocalEvents(reader, events, &read));
	OK(OTF2_Reader_CloseEvtReader(reader, events));
}

static int read_archive(const char *dir)
{
	char anchor[4096];
	OTF2_Reader *reader;
	uint64_t n, read;
	struct timespec cpu;

	snprintf(anchor, sizeof(anchor), "%s/traces.otf2", dir);
	reader = OTF2_Reader_Open(anchor);
	if (!reader)
		errx(1, "%s: cannot open", anchor);
	OK(OTF2_Reader_SetSerialCollectiveCallbacks(reader));
	OK(OTF2_Reader_GetNumberOfLocations(reader, &n));
	OK(OTF2_Reader_ReadAllGlobalDefinitions(reader, OTF2_Reader_GetGlobalDefReader(reader), &read));
	for (uint64_t i = 0; i < n; i++)
		OK(OTF2_Reader_SelectLocation(reader, i));
	OTF2_Reader_OpenDefFiles(reader);
	OK(OTF2_Reader_OpenEvtFiles(reader));
	for (uint64_t i = 0; i < n; i++)
		read_location(reader, i);
	OTF2_Reader_CloseDefFiles(reader);
	OTF2_Reader_CloseEvtFiles(reader);
	OTF2_Reader_Close(reader);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	printf("%" PRIu64 " %.3f\n", nevents, cpu.tv_sec + cpu.tv_nsec / 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "write"))
		return write_archive(argv[2], strtoull(argv[3], NULL, 0), strtoull(argv[4], NULL, 0), strtoull(argv[5], NULL, 0));
	if (argc == 3 && !strcmp(argv[1], "read"))
		return read_archive(argv[2]);
	errx(2, "usage: archive write DIR CALLS RANKS FILES | archive read DIR");
}
