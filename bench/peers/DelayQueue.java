// SPDX-License-Identifier: GPL-2.0

import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

/** The JDK's DelayQueue with a thread that takes from it. A cancel searches the queue. */
final class DelayQueue extends Jobs.Peer {
    private record Entry(Jobs.Item item, long due) implements Delayed {
        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(due - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(due - ((Entry) other).due, 0);
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }
    }

    private final java.util.concurrent.DelayQueue<Entry> queue =
            new java.util.concurrent.DelayQueue<>();

    DelayQueue() {
        Thread thread = new Thread(() -> {
            try {
                while (true)
                    queue.take().item.run();
            } catch (InterruptedException e) {
                Jobs.fail("interrupted");
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    Object add(Jobs.Item item, long ns) {
        Entry entry = new Entry(item, System.nanoTime() + ns);
        queue.add(entry);
        return entry;
    }

    @Override
    boolean cancel(Object handle) {
        return queue.remove(handle);
    }
}
