// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * twheel._cells: cells for the Python package, on twheel_cells.h. An extension, since Python and
 * ctypes have no compare-and-exchange.
 *
 * The lock of the interpreter, which no function releases, protects all fields. Purgatory.cells()
 * makes a Cells, and closes it before the descriptor, so that the number is never that of another
 * file. Cells refers to the Cell of each life, which has the cookie, until the life ends.
 */
#define Py_LIMITED_API	0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdbool.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <twheel_cells.h>

struct life;

struct cells {
	PyObject_HEAD
	PyObject *weak;
	PyObject *pools;		/* a list, since released cells are in a pool */
	struct twheel_cell_map map;	/* without @cells after close() */
	struct life **lives;		/* by cell; NULL if it is free */
	pid_t process;			/* that has the mapping */
};

struct pool {
	PyObject_HEAD
	struct cells *cells;
	struct twheel_cell_pool pool;
	uint64_t timeout;
};

struct life {
	PyObject_HEAD
	struct pool *pool;
	PyObject *cookie;
	uint64_t handle;		/* 0 after its end */
};

static PyTypeObject *pool_type, *life_type;

/* Rounded up to ns, as all times of the package. */
static bool take_interval(PyObject *from, uint64_t *ns)
{
	double seconds;

	*ns = TWHEEL_NEVER;
	if (from == Py_None)
		return true;
	seconds = PyFloat_AsDouble(from);
	if (seconds == -1 && PyErr_Occurred())
		return false;
	if (isnan(seconds)) {
		PyErr_SetString(PyExc_ValueError, "a time is not a number");
		return false;
	}
	if (seconds * 1e9 < 0x1p63)
		*ns = seconds > 0 ? (uint64_t)ceil(seconds * 1e9) : 0;
	return true;
}

static bool take_number(PyObject *from, uint64_t *number)
{
	*number = PyLong_AsUnsignedLongLong(from);
	return *number != (uint64_t)-1 || !PyErr_Occurred();
}

static uint64_t clock_of(const struct pool *pool)
{
	struct timespec now;

	clock_gettime(pool->pool.clock ? CLOCK_BOOTTIME : CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static uint64_t later_by(uint64_t now, uint64_t ns)
{
	return now > INT64_MAX || ns > INT64_MAX - now ? TWHEEL_NEVER : now + ns;
}

static bool is_open(const struct cells *cells)
{
	if (!cells->map.cells)
		PyErr_SetString(PyExc_ValueError, "the cells are closed");
	return cells->map.cells;
}

/* The parameter now, or else the time. */
static bool take_now(const struct pool *pool, PyObject *from, uint64_t *now)
{
	if (!is_open(pool->cells))
		return false;
	if (from && from != Py_None)
		return take_number(from, now);
	*now = clock_of(pool);
	return true;
}

/* Return: True; or False if the life has ended. */
static PyObject *was_alive(int status)
{
	if (status && errno != ENOENT)
		return PyErr_SetFromErrno(PyExc_OSError);
	return PyBool_FromLong(!status);
}

/* The life has ended: its cell is free. The caller gets the reference. */
static struct life *end(struct life *life)
{
	struct pool *pool = life->pool;
	uint32_t cell = (uint32_t)life->handle - 1;

	life->handle = 0;
	pool->cells->lives[cell] = NULL;
	twheel_cell_release(&pool->pool, (int)cell);
	return life;
}

static PyObject *life_touch(PyObject *self, PyObject *const *args, Py_ssize_t nr)
{
	struct life *life = (struct life *)self;
	struct pool *pool = life->pool;
	uint64_t now;

	if (nr > 1)
		return PyErr_Format(PyExc_TypeError, "touch() takes one argument, now");
	if (!take_now(pool, nr ? args[0] : NULL, &now))
		return NULL;
	return PyBool_FromLong(life->handle &&
			       !twheel_cell_touch(&pool->pool, life->handle,
						  later_by(now, pool->timeout)));
}

static PyObject *life_move(PyObject *self, PyObject *timeout)
{
	struct life *life = (struct life *)self;
	struct pool *pool = life->pool;
	uint64_t now, ns;

	if (!take_now(pool, NULL, &now) || !take_interval(timeout, &ns))
		return NULL;
	if (!life->handle)
		Py_RETURN_FALSE;
	return was_alive(twheel_cell_move(&pool->pool, life->handle, later_by(now, ns)));
}

static PyObject *life_cancel(PyObject *self, PyObject *unused)
{
	struct life *life = (struct life *)self;

	if (!is_open(life->pool->cells))
		return NULL;
	if (!life->handle || twheel_cell_cancel(&life->pool->pool, life->handle))
		Py_RETURN_FALSE;
	Py_DECREF((PyObject *)end(life));
	Py_RETURN_TRUE;
}

static PyObject *life_remaining(PyObject *self, PyObject *unused)
{
	struct life *life = (struct life *)self;
	uint64_t now, ns = 0;

	if (!take_now(life->pool, NULL, &now))
		return NULL;
	if (life->handle)
		ns = twheel_cell_remaining(&life->pool->pool, life->handle, now);
	if (ns == TWHEEL_NEVER)
		Py_RETURN_NONE;
	return PyFloat_FromDouble(ns / 1e9);
}

static int life_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct life *life = (struct life *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT((PyObject *)life->pool);
	Py_VISIT(life->cookie);
	return 0;
}

static int life_clear(PyObject *self)
{
	Py_CLEAR(((struct life *)self)->cookie);
	return 0;
}

static void free_object(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static void life_dealloc(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	life_clear(self);
	Py_XDECREF((PyObject *)((struct life *)self)->pool);
	free_object(self);
}

static PyMethodDef life_methods[] = {
	{ "touch", (PyCFunction)(void (*)(void))life_touch, METH_FASTCALL,
	  "touch($self, now=None, /)\n--\n\n"
	  "Move the deadline to the timeout of the pool from now on, unless it is later. Return False\n"
	  "if the life has ended: its event comes, or was passed to ended(). A heartbeat. With now, in\n"
	  "ns of the clock, the clock is not read." },
	{ "move", life_move, METH_O,
	  "move($self, timeout, /)\n--\n\n"
	  "Move the deadline to timeout seconds from now, also to an earlier time, which is a system\n"
	  "call. None is never. Return as touch()." },
	{ "cancel", life_cancel, METH_NOARGS,
	  "cancel($self, /)\n--\n\n"
	  "End the life, without an event. Return False if it had ended before, as touch()." },
	{ "remaining", life_remaining, METH_NOARGS,
	  "remaining($self, /)\n--\n\n"
	  "Seconds to the deadline, None for never, 0 after it or if the life has ended." },
	{ }
};

static PyMemberDef life_members[] = {
	{ "cookie", T_OBJECT, offsetof(struct life, cookie), READONLY, "that of arm()" },
	{ }
};

static PyType_Slot life_slots[] = {
	{ Py_tp_doc, "The life of a cell, from CellPool.arm() to its end." },
	{ Py_tp_dealloc, life_dealloc },
	{ Py_tp_traverse, life_traverse },
	{ Py_tp_clear, life_clear },
	{ Py_tp_methods, life_methods },
	{ Py_tp_members, life_members },
	{ }
};

#define FLAGS	(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION)

static PyType_Spec life_spec = {
	"twheel._cells.Cell", sizeof(struct life), 0, FLAGS, life_slots
};

static PyObject *pool_arm(PyObject *self, PyObject *const *args, Py_ssize_t nr)
{
	struct pool *pool = (struct pool *)self;
	PyObject *cookie = nr ? args[0] : Py_None;
	struct life *life;
	uint64_t now;
	int cell;

	if (nr > 2)
		return PyErr_Format(PyExc_TypeError, "arm() takes two arguments, cookie and now");
	/* First, since it may run the garbage collector, which may close the cells. */
	life = (struct life *)PyType_GenericAlloc(life_type, 0);
	if (!life)
		return NULL;
	life->pool = (struct pool *)Py_NewRef(self);
	life->cookie = Py_NewRef(cookie);
	if (!take_now(pool, nr > 1 ? args[1] : NULL, &now)) {
		Py_DECREF((PyObject *)life);
		return NULL;
	}
	cell = twheel_cell_acquire(&pool->pool, 0);
	if (cell >= 0) {
		life->handle = twheel_cell_arm(&pool->pool, cell, later_by(now, pool->timeout));
		if (!life->handle)
			twheel_cell_release(&pool->pool, cell);
	}
	if (life->handle) {
		pool->cells->lives[cell] = life;
		return Py_NewRef((PyObject *)life);
	}
	PyErr_SetFromErrno(PyExc_OSError);
	Py_DECREF((PyObject *)life);
	return NULL;
}

static int pool_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT((PyObject *)((struct pool *)self)->cells);
	return 0;
}

static void pool_dealloc(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	Py_XDECREF((PyObject *)((struct pool *)self)->cells);
	free_object(self);
}

static PyMethodDef pool_methods[] = {
	{ "arm", (PyCFunction)(void (*)(void))pool_arm, METH_FASTCALL,
	  "arm($self, cookie=None, now=None, /)\n--\n\n"
	  "Begin a life, a Cell with the timeout of the pool. The cookie is any object. With now, in ns\n"
	  "of the clock, the clock is not read. Raises OSError, with ENOSPC if no cell is free." },
	{ }
};

static PyType_Slot pool_slots[] = {
	{ Py_tp_doc, "Cells with one timeout, from Cells.pool()." },
	{ Py_tp_dealloc, pool_dealloc },
	{ Py_tp_traverse, pool_traverse },
	{ Py_tp_methods, pool_methods },
	{ }
};

static PyType_Spec pool_spec = {
	"twheel._cells.CellPool", sizeof(struct pool), 0, FLAGS, pool_slots
};

static PyObject *cells_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
	struct cells *cells;
	unsigned int nr;
	int fd;

	if (!PyArg_ParseTuple(args, "iI", &fd, &nr))
		return NULL;
	cells = (struct cells *)PyType_GenericAlloc(type, 0);
	if (!cells)
		return NULL;
	if (twheel_cell_map_init(&cells->map, fd, nr)) {
		cells->map.cells = NULL;
		PyErr_SetFromErrno(PyExc_OSError);
		Py_DECREF((PyObject *)cells);
		return NULL;
	}
	cells->process = getpid();
	cells->lives = PyMem_Calloc(cells->map.nr, sizeof(*cells->lives));
	cells->pools = PyList_New(0);
	if (!cells->lives || !cells->pools) {
		Py_DECREF((PyObject *)cells);
		return PyErr_NoMemory();
	}
	return (PyObject *)cells;
}

static PyObject *cells_pool(PyObject *self, PyObject *args, PyObject *named)
{
	static const char *const names[] = { "timeout", "clock", NULL };
	struct cells *cells = (struct cells *)self;
	int clock = CLOCK_MONOTONIC;
	struct pool *pool;
	PyObject *timeout;
	uint64_t ns;

	if (!PyArg_ParseTupleAndKeywords(args, named, "O|$i", (char **)names, &timeout,
					 &clock) || !is_open(cells) || !take_interval(timeout, &ns))
		return NULL;
	if (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return PyErr_Format(PyExc_ValueError, "cells have no clock %d", clock);
	pool = (struct pool *)PyType_GenericAlloc(pool_type, 0);
	if (!pool)
		return NULL;
	twheel_cell_pool_init(&pool->pool, &cells->map, clock);
	pool->timeout = ns;
	pool->cells = (struct cells *)Py_NewRef(self);
	if (!PyList_Append(cells->pools, (PyObject *)pool))
		return (PyObject *)pool;
	Py_DECREF((PyObject *)pool);
	return NULL;
}

/* An attribute of an Event. */
static bool take_field(PyObject *event, const char *name, uint64_t *number)
{
	PyObject *field = PyObject_GetAttrString(event, name);
	bool taken = field && take_number(field, number);

	Py_XDECREF(field);
	return taken;
}

static PyObject *cells_ended(PyObject *self, PyObject *from)
{
	struct cells *cells = (struct cells *)self;
	struct twheel_event event = { };
	uint64_t handle, word, cookie;
	struct life *life;

	/* An attribute may be a function, which may close the cells. */
	if (!take_field(from, "cookie", &cookie) || !take_field(from, "cell", &word) ||
	    !is_open(cells))
		return NULL;
	event.cookie = cookie;
	event.cell = word;
	handle = twheel_cell_event(&cells->map, &event, &cookie);
	life = handle ? cells->lives[(uint32_t)handle - 1] : NULL;
	if (!life || life->handle != handle)
		Py_RETURN_NONE;
	return (PyObject *)end(life);
}

static int cells_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct cells *cells = (struct cells *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(cells->pools);
	for (uint32_t i = 0; cells->lives && i < cells->map.used; i++)
		Py_VISIT((PyObject *)cells->lives[i]);
	return 0;
}

/* End all lives, which call for nothing of the kernel. */
static int cells_clear(PyObject *self)
{
	struct cells *cells = (struct cells *)self;

	/* A child of fork() has no mapping: its memory at this address is something else. */
	if (cells->map.cells && cells->process == getpid())
		twheel_cell_map_free(&cells->map);
	else if (cells->map.cells)
		free(cells->map.slots);
	cells->map.cells = NULL;
	for (uint32_t i = 0; cells->lives && i < cells->map.nr; i++) {
		if (cells->lives[i])
			cells->lives[i]->handle = 0;
		Py_CLEAR(cells->lives[i]);
	}
	Py_CLEAR(cells->pools);
	return 0;
}

static PyObject *cells_close(PyObject *self, PyObject *unused)
{
	cells_clear(self);
	Py_RETURN_NONE;
}

static void cells_dealloc(PyObject *self)
{
	struct cells *cells = (struct cells *)self;

	PyObject_GC_UnTrack(self);
	if (cells->weak)
		PyObject_ClearWeakRefs(self);
	cells_clear(self);
	PyMem_Free(cells->lives);
	free_object(self);
}

static PyMethodDef cells_methods[] = {
	{ "pool", (PyCFunction)(void (*)(void))cells_pool, METH_VARARGS | METH_KEYWORDS,
	  "pool($self, timeout, *, clock=Clock.MONOTONIC)\n--\n\n"
	  "Make a pool of cells that expire after timeout seconds, or never with None. A cell stays in\n"
	  "its pool. So no system call is needed to use it again, unless it had a later deadline, or\n"
	  "was idle beyond it." },
	{ "ended", cells_ended, METH_O,
	  "ended($self, event, /)\n--\n\n"
	  "Return the Cell whose life has ended with an event of the purgatory, or None. Pass each event\n"
	  "to this method: a cell is free again after that." },
	{ "close", cells_close, METH_NOARGS,
	  "close($self, /)\n--\n\n"
	  "Unmap the cells. Their operations stay pending until the purgatory is closed as well." },
	{ }
};

static PyMemberDef cells_members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct cells, weak), READONLY, NULL },
	{ }
};

static PyType_Slot cells_slots[] = {
	{ Py_tp_doc, "The mapped cells of a purgatory, from Purgatory.cells()." },
	{ Py_tp_new, cells_new },
	{ Py_tp_dealloc, cells_dealloc },
	{ Py_tp_traverse, cells_traverse },
	{ Py_tp_clear, cells_clear },
	{ Py_tp_methods, cells_methods },
	{ Py_tp_members, cells_members },
	{ }
};

static PyType_Spec cells_spec = {
	"twheel._cells.Cells", sizeof(struct cells), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, cells_slots
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "twheel._cells", "Cells of the twheel package.", -1
};

static bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
	*type = (PyTypeObject *)PyType_FromSpec(spec);
	return *type && !PyModule_AddType(module, *type);
}

PyMODINIT_FUNC PyInit__cells(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyTypeObject *cells_type;

	if (module && add_type(module, &life_spec, &life_type) &&
	    add_type(module, &pool_spec, &pool_type) && add_type(module, &cells_spec, &cells_type))
		return module;
	Py_XDECREF(module);
	return NULL;
}
