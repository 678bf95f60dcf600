/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files are kept open from their first call site to the end of the recording, so that their symbols belong to the code that ran.
 */
#include "capture/site_modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/procfs.h"
#include "symbol/packages.h"

/* ---- modules ---- */

static void module_free(struct site_module *module)
{
	struct site_place *place, *next;

	HASH_ITER(hh, module->places, place, next) {
		HASH_DEL(module->places, place);
		free(place);
	}
	code_file_close(&module->file);
	free(module->path);
	free(module->reason);
	free(module);
}

/* Takes the file over. */
static int site_modules_module_add(struct site_modules *modules, const char *path, struct code_file *file)
{
	struct site_module **grown = reallocarray(modules->v, modules->n + 1, sizeof(*grown)), *module;

	if (grown)
		modules->v = grown;
	module = grown && modules->n < SITE_MAX_MODULES ? calloc(1, sizeof(*module)) : NULL;
	if (module)
		module->path = strdup(path);
	if (!module || !module->path) {
		free(module);
		code_file_close(file);
		return -ENOMEM;
	}
	module->file = *file;
	module->application = !packages_look_through(modules->set, path);
	modules->v[modules->n] = module;
	return modules->n++;
}

/* Its number, or -errno. */
static int site_modules_module_of(struct site_modules *modules, const struct proc_module *mapped)
{
	struct code_file file;
	int err = proc_module_open(mapped, &file);

	if (err)
		return err;
	for (size_t i = 0; i < modules->n; i++) {
		if (modules->v[i]->file.dev != file.dev || modules->v[i]->file.ino != file.ino)
			continue;
		code_file_close(&file);
		return i;
	}
	return site_modules_module_add(modules, mapped->path, &file);
}

/* ---- images ---- */

static struct site_image *image_of(struct site_modules *modules, uint32_t number)
{
	struct site_image *image;

	HASH_FIND(hh, modules->images, &number, sizeof(number), image);
	if (image)
		return image;
	image = calloc(1, sizeof(*image));
	if (!image)
		return NULL;
	image->image = number;
	HASH_ADD(hh, modules->images, image, sizeof(image->image), image);
	if (hash_added(image))
		return image;
	free(image);
	return NULL;
}

static struct site_mapping *find_mapping(struct site_image *image, uint64_t pc)
{
	for (size_t i = 0; i < image->n; i++)
		if (pc > image->v[i].start && pc <= image->v[i].end)
			return &image->v[i];
	return NULL;
}

static void site_modules_add_mapping(struct site_image *image, const struct proc_module *mapped, uint32_t module)
{
	struct site_mapping *grown = reallocarray(image->v, image->n + 1, sizeof(*grown));

	if (!grown)
		return;
	image->v = grown;
	image->v[image->n++] = (struct site_mapping){ mapped->text_addr, mapped->text_addr + mapped->text_len, mapped->text_offset,
						      module, false };
}

/* Modules that were not yet known in this image. */
static void add_mapped(struct site_modules *modules, struct site_image *image, const struct proc_modules *mapped)
{
	for (size_t i = 0; i < mapped->n; i++) {
		const struct proc_module *m = &mapped->v[i];
		int module = m->text_len && !find_mapping(image, m->text_addr + 1) ? site_modules_module_of(modules, m) : -ENOENT;

		if (module >= 0)
			site_modules_add_mapping(image, m, module);
	}
}

/* ---- files ---- */

static void ask_about(struct site_modules *modules, struct site_module *module)
{
	char reason[256] = "";

	module->asked = true;
	if (parse_build_id(modules->parsers, &module->file, module->build_id, sizeof(module->build_id), reason, sizeof(reason)) ||
	    (python_is_interpreter(module->path) &&
	     parse_python(modules->parsers, &module->file, &module->python, reason, sizeof(reason))))
		module->reason = strdup(reason);
}

/* The programs read frames of Python code from then on. */
static void find_python(struct site_modules *modules, struct site_image *image)
{
	for (; image->searched < image->n; image->searched++) {
		const struct site_mapping *mapping = &image->v[image->searched];
		struct site_module *module = modules->v[mapping->module];
		struct iop_python layout;

		if (!module->asked && python_is_interpreter(module->path))
			ask_about(modules, module);
		if (!module->python.known)
			continue;
		layout = module->python.layout;
		layout.runtime += mapping->start - mapping->offset;
		bpf_side_set_python(modules->kernel, image->image, &layout);
	}
}

/* The process' code is read, if it is still that of the image, then whether it was that all the time. Returns 0 or -errno. */
static int read_image(struct site_modules *modules, struct site_image *image, pid_t tgid, uint32_t process)
{
	bool current = bpf_side_image(modules->kernel, process) == image->image;
	size_t before = image->n;
	struct proc_modules mapped;
	int err = current ? proc_modules_read(tgid, &mapped) : -ESTALE;

	if (err)
		return err;
	add_mapped(modules, image, &mapped);
	proc_modules_free(&mapped);
	if (bpf_side_image(modules->kernel, process) == image->image) {
		find_python(modules, image);
		return 0;
	}
	image->n = before;
	return -ESTALE;
}

void site_modules_prepare(struct site_modules *modules, pid_t tgid, uint32_t process, uint32_t image)
{
	struct site_image *new_image = image_of(modules, image);

	if (new_image && !new_image->n)
		read_image(modules, new_image, tgid, process);  /* if not, it is tried again at the first question */
}

struct site_mapping *site_modules_find(struct site_modules *modules, const struct iop_site_ask *ask, uint64_t pc, bool *gone)
{
	struct site_image *image = image_of(modules, ask->image);
	struct site_mapping *mapping = image ? find_mapping(image, pc) : NULL;

	*gone = !image;
	if (!image || mapping)
		return mapping;
	*gone = read_image(modules, image, ask->tgid, ask->process) != 0;
	return *gone ? NULL : find_mapping(image, pc);
}

static void image_free(struct site_modules *modules, struct site_image *image)
{
	HASH_DEL(modules->images, image);
	free(image->v);
	free(image);
}

void site_modules_keep(struct site_modules *modules, const struct image_numbers *images)
{
	struct site_image *image, *next;

	HASH_ITER(hh, modules->images, image, next)
		if (!image_numbers_have(images, image->image))
			image_free(modules, image);
}

void site_modules_deinit(struct site_modules *modules)
{
	struct site_image *image, *next;

	HASH_ITER(hh, modules->images, image, next)
		image_free(modules, image);
	for (size_t i = 0; i < modules->n; i++)
		module_free(modules->v[i]);
	free(modules->v);
}

/* ---- rules ---- */

struct site_place *site_modules_place(struct site_modules *modules, struct site_module *module, uint64_t offset)
{
	struct site_place *place;
	char reason[256] = "";

	HASH_FIND(hh, module->places, &offset, sizeof(offset), place);
	if (place)
		return place;
	if (!module->asked)
		ask_about(modules, module);
	place = module->reason ? NULL : calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	place->offset = offset;
	if (parse_rule(modules->parsers, &module->file, offset, &place->rule, reason, sizeof(reason))) {
		module->reason = strdup(reason);
		free(place);
		return NULL;
	}
	place->rule.flags |= (module->application ? IOP_RULE_APPLICATION : 0) | (module->python.known ? IOP_RULE_PYTHON : 0);
	HASH_ADD(hh, module->places, offset, sizeof(place->offset), place);
	if (hash_added(place))
		return place;
	free(place);
	return NULL;
}
