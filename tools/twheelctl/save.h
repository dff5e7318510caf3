/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The boot to which the deadlines of 'twheelctl save' belong.
 */
#ifndef TWHEELCTL_SAVE_H
#define TWHEELCTL_SAVE_H

/* Size of the text of a boot ID, including the terminating NUL. */
#define BOOT_ID_SIZE	37

/* Sets @id to the ID of this boot, or to an empty text. */
void read_boot_id(char id[BOOT_ID_SIZE]);

#endif /* TWHEELCTL_SAVE_H */
