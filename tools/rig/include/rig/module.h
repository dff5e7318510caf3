/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Modules: the program calls rig_module_init("name") instead of insmod, and sets parameters
 * by name before that. RIG_MODULE is the name, defined by the Makefile. Also trace events, which
 * only cause jitter.
 */
#ifndef _RIG_MODULE_H
#define _RIG_MODULE_H

#include <rig/bug.h>
#include <rig/task.h>

struct rig_module {
	const char *name;
	int (*init)(void);
	void (*exit)(void);
	struct rig_module *next;
};

struct rig_param {
	const char *module;
	const char *name;
	void *value;
	size_t size;
	struct rig_param *next;
};

void rig_module_register(struct rig_module *module);
void rig_param_register(struct rig_param *param);
void rig_param_set(const char *module, const char *name, unsigned long value);
bool rig_param_get(const char *module, const char *name, unsigned long *value);
int rig_module_init(const char *name);
void rig_module_exit(const char *name);

struct module {
	const char *name;
};

#define THIS_MODULE		((struct module *)NULL)
extern int rig_module_refs;
#define rig_module_ref(module, n)					\
	((void)(module), (void)__atomic_fetch_add(&rig_module_refs, n, __ATOMIC_RELAXED))
#define __module_get(module)	rig_module_ref(module, 1)
#define module_put(module)	rig_module_ref(module, -1)

#define module_param_named(param, variable, kind, mode)			\
static void __attribute__((constructor)) rig_param_init_##param(void)	\
{									\
	static struct rig_param entry = {				\
		.module = KBUILD_MODNAME, .name = #param,		\
		.value = &(variable), .size = sizeof(variable),		\
	};								\
	rig_param_register(&entry);					\
}									\
extern int rig_needs_a_semicolon
#define module_param(param, kind, mode)	module_param_named(param, param, kind, mode)
#define MODULE_PARM_DESC(param, text)	extern int rig_needs_a_semicolon
#define MODULE_DESCRIPTION(text)	extern int rig_needs_a_semicolon
#define MODULE_AUTHOR(text)		extern int rig_needs_a_semicolon
#define MODULE_LICENSE(text)		extern int rig_needs_a_semicolon
#define MODULE_VERSION(text)		extern int rig_needs_a_semicolon

/* Both are registered when the program starts; a module without an exit function stays. */
#define module_init(fn)							\
static struct rig_module rig_module = { .name = KBUILD_MODNAME, .init = fn };\
static void __attribute__((constructor)) rig_module_construct(void)	\
{									\
	rig_module_register(&rig_module);				\
}									\
extern int rig_needs_a_semicolon
#define module_exit(fn)							\
static void __attribute__((constructor)) rig_module_construct_exit(void)\
{									\
	rig_module.exit = fn;						\
}									\
extern int rig_needs_a_semicolon

#define TP_PROTO(...)			__VA_ARGS__
#define TP_ARGS(...)
#define DECLARE_EVENT_CLASS(...)
#define RIG_EVENT(name, ...)						\
static inline void __maybe_unused trace_##name(__VA_ARGS__)		\
{									\
	rig_jitter();							\
}									\
static inline bool __maybe_unused trace_##name##_enabled(void)		\
{									\
	return false;							\
}

#define TRACE_EVENT(name, proto, ...)			RIG_EVENT(name, proto)
#define DEFINE_EVENT(class, name, proto, ...)		RIG_EVENT(name, proto)

#endif /* _RIG_MODULE_H */
