/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a recording writes into the spool at its end: counters of the BPF programs and of the recorder, faults on mapped files.
 */
#include "capture/recorder_internal.h"

#include "capture/notes.h"
#include "proc/procfs.h"

static void note_mapped(void *arg, const struct mapped_file *file)
{
	struct recorder *r = arg;
	struct note note = { 0 };

	if (file->excluded) {
		r->faults_excluded += file->read_faults + file->write_faults;
		return;
	}
	note_addf(&note, "dev", "%llu", (unsigned long long)file->dev);
	note_addf(&note, "ino", "%llu", (unsigned long long)file->ino);
	note_addf(&note, "read_faults", "%llu", (unsigned long long)file->read_faults);
	note_addf(&note, "write_faults", "%llu", (unsigned long long)file->write_faults);
	note_addf(&note, "written_back", "%llu", (unsigned long long)file->written_back);
	spool_writer_text(r->spool, IOP_REC_MAPPED, 0, monotonic_ns(), note.text, NULL);
	note_free(&note);
}

static void note_sites(struct recorder *r, struct note *note)
{
	struct iop_site_counts kernel = bpf_side_site_counts(r->kernel);
	struct sites_counts counts = sites_count(r->sites);

	if (!r->sites)
		return;
	note_addf(note, "sites_full", "%llu", (unsigned long long)kernel.full);
	note_addf(note, "sites_unasked", "%llu", (unsigned long long)kernel.unasked);
	note_addf(note, "sites_unread", "%llu", (unsigned long long)kernel.unread);
	note_addf(note, "sites_no_image", "%llu", (unsigned long long)kernel.no_image);
	note_addf(note, "sites_no_python", "%llu", (unsigned long long)kernel.no_python);
	note_addf(note, "sites_gone", "%llu", (unsigned long long)counts.gone);
	note_addf(note, "sites_no_file", "%llu", (unsigned long long)counts.no_file);
	note_addf(note, "sites_unreadable", "%llu", (unsigned long long)counts.unreadable);
}

void recorder_note_end(struct recorder *r)
{
	struct kernel_counts counts = { 0 };
	struct targets_counts targets = targets_count(r->targets);
	struct note note = { 0 };
	struct clock_reading clock;

	note_addf(&note, "mapped_faults_missed", "%llu", (unsigned long long)bpf_side_mapped_files(r->kernel, note_mapped, r));
	note_addf(&note, "mapped_faults_left_out", "%llu", (unsigned long long)r->faults_excluded);
	spool_writer_flush(r->spool);   /* what does not fit is counted below */
	clock_read(&clock);
	bpf_side_counts(r->kernel, &counts);
	r->result->lost = counts.lost;
	r->result->processes = targets.processes;
	note_addf(&note, "begin_ns", "%llu", (unsigned long long)r->begun_ns);
	note_addf(&note, "end_ns", "%llu", (unsigned long long)r->stopped_ns);
	note_add(&note, "reason", r->reason ? r->reason : "failed");
	note_add(&note, "stopped_by", r->stopped_by ? r->stopped_by : "failure");
	note_addf(&note, "after_bound", "%llu", (unsigned long long)budget_refused(r->budget));
	if (budget_refused(r->budget))
		note_addf(&note, "bound_ns", "%llu", (unsigned long long)budget_refused_since(r->budget));
	if (r->remark)
		note_add(&note, "remark", r->remark);
	note_addf(&note, "records", "%llu", (unsigned long long)r->result->records);
	note_addf(&note, "lost", "%llu", (unsigned long long)counts.lost);
	note_addf(&note, "untracked_threads", "%llu", (unsigned long long)counts.untracked);
	note_addf(&note, "no_process_slot", "%llu", (unsigned long long)counts.no_process_slot);
	note_addf(&note, "missed_programs", "%llu", (unsigned long long)counts.missed_programs);
	note_addf(&note, "unwinds_late", "%llu", (unsigned long long)counts.unwinds_late);
	note_addf(&note, "returns_failed", "%llu", (unsigned long long)hold_server_returns_failed(r->server));
	note_addf(&note, "holds_late", "%llu", (unsigned long long)counts.holds_late + hold_server_late(r->server));
	note_addf(&note, "entry_only", "%llu", (unsigned long long)counts.entry_only);
	note_addf(&note, "compat_programs", "%llu", (unsigned long long)counts.compat_programs);
	note_addf(&note, "compat_entries", "%llu", (unsigned long long)counts.compat_calls);
	note_addf(&note, "fd_unordered", "%llu", (unsigned long long)counts.fd_unordered);
	note_addf(&note, "late", "%zu", r->late);
	note_addf(&note, "unreported_ends", "%zu", r->unreported_ends);
	note_addf(&note, "no_memory", "%zu", r->events_dropped + targets.no_memory + demands_no_memory(r->demands) +
		  (r->overhead ? overhead_limit_no_memory(r->overhead) : 0));
	note_addf(&note, "foreign", "%zu", r->foreign);
	note_addf(&note, "privileged", "%llu", (unsigned long long)counts.privileged);
	note_addf(&note, "unread_environments", "%llu", (unsigned long long)counts.unread_environments);
	note_addf(&note, "spool_dropped", "%llu", (unsigned long long)spool_writer_dropped(r->spool));
	note_addf(&note, "device", "%d", r->options->kernel.device);
	note_addf(&note, "waits_not_followed", "%llu", (unsigned long long)counts.waits_not_followed);
	note_addf(&note, "processes_running", "%zu", targets_running(r->targets));
	note_addf(&note, "probes_single_stepped", "%zu", targets.single_stepped);
	note_sites(r, &note);
	clock_note(&note, &clock);
	if (spool_writer_status(r->spool, IOP_REC_END, monotonic_ns(), note.text))
		spool_writer_text(r->spool, IOP_REC_END, 0, monotonic_ns(), note.text, NULL);
	note_free(&note);
}
