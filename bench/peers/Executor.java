// SPDX-License-Identifier: GPL-2.0

import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The JDK's ScheduledThreadPoolExecutor with one thread. Cancelled tasks leave its heap at once. */
final class Executor extends Jobs.Peer {
    private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1);

    Executor() {
        executor.setRemoveOnCancelPolicy(true);
    }

    @Override
    Object add(Jobs.Item item, long ns) {
        return executor.schedule(item, ns, TimeUnit.NANOSECONDS);
    }

    @Override
    boolean cancel(Object handle) {
        return ((Future<?>) handle).cancel(false);
    }
}
