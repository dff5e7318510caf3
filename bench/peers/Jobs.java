// SPDX-License-Identifier: GPL-2.0

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** The jobs for contenders in Java; see jobs.c. CONTENDER is the class of the contender. */
public final class Jobs {
    static final int KEYS = 3;
    static final long LATE_NS = 50_000_000;

    /** A way to manage timeouts; the map is for contenders without keys. */
    abstract static class Peer {
        private final ConcurrentHashMap<Long, Item> watches = new ConcurrentHashMap<>();

        /** Call item.run() after ns; the result is for cancel(). */
        abstract Object add(Item item, long ns);

        /** Returns true if the timeout was pending. */
        abstract boolean cancel(Object handle);

        /** Add a wait for need of the keys from item.key on. */
        void watch(Item item, long ns, int need) {
            item.missing = need;
            item.handle = add(item, ns);
            for (long key = item.key; key < item.key + KEYS; key++)
                watches.put(key, item);
        }

        /** The item is for contenders whose condition is state of their user. */
        boolean signal(Item unused, long key) {
            Item item = watches.get(key);
            synchronized (item) {
                if (--item.missing != 0)
                    return false;
            }
            for (long other = item.key; other < item.key + KEYS; other++)
                watches.remove(other);
            return cancel(item.handle);
        }

        int watched() {
            return watches.size();
        }

        void close() { }
    }

    /** A pending item; only the timeouts of 50 ms run. */
    static class Item implements Runnable {
        Object handle;
        long key;
        int missing;

        @Override
        public void run() {
            expired.incrementAndGet();
        }
    }

    static final class Late extends Item {
        final long due = System.nanoTime() + LATE_NS;
        final int number;
        final double[] us;
        final CountDownLatch left;

        Late(int number, double[] us, CountDownLatch left) {
            this.number = number;
            this.us = us;
            this.left = left;
        }

        @Override
        public void run() {
            if (us[number] != 0)
                fail("a timeout expired twice");
            us[number] = (System.nanoTime() - due) / 1e3;
            left.countDown();
        }
    }

    static final AtomicInteger expired = new AtomicInteger();
    static String name;
    static String job;
    static int pending;
    static int need;
    static Item[] items;
    static Peer peer;
    static long nextKey;

    static void fail(String text) {
        System.out.println("FAILURE: " + name + ": " + text);
        System.out.flush();
        Runtime.getRuntime().halt(1);
    }

    static void report(String figure, String unit, double value) {
        System.out.printf("sample suite=peers case=%s of=%s what=%s pending=%d unit=%s value=%.2f%n",
                          job, name, figure, pending, unit, value);
    }

    interface Figure {
        long of(Path task) throws IOException;
    }

    /** The sum of a figure over all threads but this one. */
    static long others(Figure figure) throws IOException {
        Path self = Path.of("/proc/thread-self").toRealPath().getFileName();
        long sum = 0;
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path task : tasks)
                if (!task.getFileName().equals(self))
                    sum += figure.of(task);
        }
        return sum;
    }

    static long cpuOf(Path task) throws IOException {
        return Long.parseLong(Files.readString(task.resolve("schedstat")).split(" ")[0]);
    }

    static long switchesOf(Path task) throws IOException {
        for (String line : Files.readAllLines(task.resolve("status")))
            if (line.startsWith("voluntary_ctxt_switches:"))
                return Long.parseLong(line.replaceAll("\\D", ""));
        throw new IOException("no context switches");
    }

    /** CPU time of the process, from the scheduler: that of the MXBean has a resolution of 10 ms. */
    static long cpu() throws IOException {
        return others(Jobs::cpuOf) + cpuOf(Path.of("/proc/thread-self"));
    }

    static long heap() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    static long delay() {
        if (job.equals("sessions"))
            return 30_000_000_000L;
        return ThreadLocalRandom.current().nextLong(60_000_000_000L, 600_000_000_000L);
    }

    static void add(Item item) {
        if (need == 0) {
            item.handle = peer.add(item, delay());
            return;
        }
        item.key = nextKey;
        nextKey += KEYS;
        peer.watch(item, delay(), need);
    }

    static boolean end(Item item) {
        if (need == 0)
            return peer.cancel(item.handle);
        long key = item.key;
        for (int i = 0; i < need - 1; i++)
            if (peer.signal(item, key + i))
                fail("an operation completed early");
        return peer.signal(item, key + need - 1);
    }

    /** Returns the number of steps, which is lower than wanted after a time limit. */
    static long steps(int number, double seconds) {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        int i = 0;
        for (; i < number && (i % 64 != 0 || System.nanoTime() < end); i++) {
            Item item = items[ThreadLocalRandom.current().nextInt(pending)];
            if (!end(item))
                fail("an item was not pending");
            add(item);
        }
        return i;
    }

    static void late(int number) throws InterruptedException {
        double[] us = new double[number];
        CountDownLatch left = new CountDownLatch(number);
        long start = System.nanoTime();
        for (int i = 0; i < number; i++) {
            long wait = start + i * 1_000_000L - System.nanoTime();
            if (wait > 0)
                LockSupport.parkNanos(wait);
            peer.add(new Late(i, us, left), LATE_NS);
            if (!peer.cancel(peer.add(new Item(), LATE_NS)))
                fail("a timeout was not pending");
        }
        if (!left.await(10, java.util.concurrent.TimeUnit.SECONDS))
            fail(left.getCount() + " of " + number + " timeouts did not expire");
        Arrays.sort(us);
        if (us[0] < -10000)
            fail("early by more than 10 ms");
        report("late_p50", "us", us[number / 2]);
        report("late_p99", "us", us[number * 99 / 100]);
    }

    public static void main(String[] args) throws Exception {
        name = args[0].toLowerCase();
        job = args[1];
        pending = Integer.parseInt(args[2]);
        int operations = Integer.parseInt(args[3]);
        double seconds = Double.parseDouble(args[4]);
        need = job.equals("quorum") ? 2 : job.equals("any") ? 1 : 0;
        peer = (Peer) Class.forName(args[0]).getDeclaredConstructor().newInstance();
        items = new Item[pending];
        for (int i = 0; i < pending; i++)
            items[i] = new Item();

        long before = heap();
        for (Item item : items)
            add(item);
        report("bytes", "bytes", (double) (heap() - before) / pending);
        steps(operations / 4, 2 * seconds);
        long cpu = cpu();
        long done = steps(operations, 10 * seconds);
        report("cpu", "ns", (double) (cpu() - cpu) / done);
        // A thread of the contender may be behind the steps.
        Thread.sleep((long) (seconds * 1000));
        late((int) (seconds * 1000));
        Thread.sleep(100);
        long nr = others(Jobs::switchesOf);
        Thread.sleep((long) (seconds * 1000));
        report("wakeups", "per_second", (others(Jobs::switchesOf) - nr) / seconds);
        if (expired.get() != 0)
            fail("items expired before their deadlines");
        if (need != 0 && peer.watched() < KEYS * pending)
            fail("keys are lost");
        peer.close();
        System.out.println("end suite=peers");
        System.exit(0);
    }

    private Jobs() { }
}
