// SPDX-License-Identifier: LGPL-2.1-or-later

module twheel

go 1.19
