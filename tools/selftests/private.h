/* SPDX-License-Identifier: GPL-2.0 */
/* A fixture with a private purgatory. */
#ifndef _TWHEEL_PRIVATE_H
#define _TWHEEL_PRIVATE_H

#include "selftest.h"

FIXTURE(private) {
	int fd;
};

FIXTURE_SETUP(private)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(private)
{
	close(self->fd);
}

#endif /* _TWHEEL_PRIVATE_H */
