/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * otf2_floor DIR CALLS OFFSETS: the least that libotf2 writes for a read or write of one byte: Enter, IoOperationBegin,
 * IoOperationComplete, Leave, with refs of one byte, two times and a matching id that is unique in the trace; OFFSETS 1: with the
 * offset as attribute. Prints the bytes per call on stdout.
 */
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static OTF2_FlushType flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	(void)data, (void)type, (void)location, (void)caller, (void)final;
	return OTF2_FLUSH;
}

static int write_calls(OTF2_EvtWriter *writer, uint64_t calls, int offsets)
{
	OTF2_AttributeList *a = OTF2_AttributeList_New();
	int failed = !a;

	for (uint64_t i = 1; i <= calls && !failed; i++) {
		uint64_t t = 1000 * i;

		failed |= OTF2_EvtWriter_Enter(writer, NULL, t, 0);
		if (offsets)
			failed |= OTF2_AttributeList_AddUint64(a, 0, 0);
		failed |= OTF2_EvtWriter_IoOperationBegin(writer, a, t, 0, OTF2_IO_OPERATION_MODE_WRITE,
							  OTF2_IO_OPERATION_FLAG_NONE, 1, i);
		failed |= OTF2_EvtWriter_IoOperationComplete(writer, NULL, t + 500, 0, 1, i);
		failed |= OTF2_EvtWriter_Leave(writer, NULL, t + 500, 0);
	}
	OTF2_AttributeList_Delete(a);
	return failed;
}

int main(int argc, char **argv)
{
	static const OTF2_FlushCallbacks callbacks = { .otf2_pre_flush = flush };
	uint64_t calls = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	OTF2_Archive *archive = calls ? OTF2_Archive_Open(argv[1], "floor", OTF2_FILEMODE_WRITE, 1 << 20, 1 << 20,
							  OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE) : NULL;
	OTF2_EvtWriter *writer = NULL;
	char path[4096];
	struct stat st;

	if (archive && !OTF2_Archive_SetFlushCallbacks(archive, &callbacks, NULL) &&
	    !OTF2_Archive_SetSerialCollectiveCallbacks(archive) && !OTF2_Archive_OpenEvtFiles(archive))
		writer = OTF2_Archive_GetEvtWriter(archive, 0);
	if (!writer || write_calls(writer, calls, atoi(argv[3])) || OTF2_Archive_CloseEvtWriter(archive, writer) ||
	    OTF2_Archive_CloseEvtFiles(archive) || OTF2_Archive_Close(archive))
		return 1;
	snprintf(path, sizeof(path), "%s/floor/0.evt", argv[1]);
	if (stat(path, &st))
		return 1;
	printf("%.3f\n", (double)st.st_size / (double)calls);
	return 0;
}
