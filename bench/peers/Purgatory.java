// SPDX-License-Identifier: GPL-2.0

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A purgatory by the published design of Kafka: hierarchical wheels of 20 slots and 1 ms whose
 * buckets are in a DelayQueue; lists of watchers by key, in 512 shards; a reaper that waits for a
 * bucket for 200 ms at most, and walks all lists when more than 1,000 completed operations may be
 * in them; expired operations run in an executor.
 */
final class Purgatory extends Jobs.Peer {
    private static final int SHARDS = 512;
    private static final int SLOTS = 20;
    private static final int PURGE_INTERVAL = 1000;
    private static final long REAPER_MS = 200;

    /** A delayed operation. The number of signals is state of its user. */
    private static final class Op {
        final Jobs.Item item;
        final int need;
        final AtomicInteger signals = new AtomicInteger();
        final AtomicBoolean completed = new AtomicBoolean();
        final long expiration;
        Bucket bucket;
        Op next = this;
        Op prev = this;

        Op(Jobs.Item item, int need, long ns) {
            this.item = item;
            this.need = need;
            expiration = now() + (ns + 999_999) / 1_000_000;
        }

        synchronized void leaveWheel() {
            if (bucket != null)
                bucket.remove(this);
        }

        boolean forceComplete() {
            if (!completed.compareAndSet(false, true))
                return false;
            leaveWheel();
            return true;
        }

        synchronized boolean tryComplete() {
            return signals.get() >= need && forceComplete();
        }
    }

    /** A slot of a wheel: a list of operations with one expiration, itself in the DelayQueue. */
    private final class Bucket implements Delayed {
        final AtomicLong expiration = new AtomicLong(-1);
        final Op root = new Op(null, 0, 0);

        void add(Op op) {
            synchronized (op) {
                synchronized (this) {
                    op.bucket = this;
                    op.prev = root.prev;
                    op.next = root;
                    root.prev.next = op;
                    root.prev = op;
                    delayed.incrementAndGet();
                }
            }
        }

        synchronized void remove(Op op) {
            if (op.bucket != this)
                return;
            op.prev.next = op.next;
            op.next.prev = op.prev;
            op.bucket = null;
            delayed.decrementAndGet();
        }

        void flush() {
            List<Op> ops = new ArrayList<>();
            synchronized (this) {
                for (Op op = root.next; op != root; op = root.next) {
                    remove(op);
                    ops.add(op);
                }
                expiration.set(-1);
            }
            ops.forEach(Purgatory.this::place);
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(Math.max(expiration.get() - now(), 0), TimeUnit.MILLISECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(expiration.get(), ((Bucket) other).expiration.get());
        }
    }

    private final class Wheel {
        final long tick;
        final Bucket[] buckets = new Bucket[SLOTS];
        long current;
        volatile Wheel overflow;

        Wheel(long tick, long start) {
            this.tick = tick;
            current = start - start % tick;
            for (int i = 0; i < SLOTS; i++)
                buckets[i] = new Bucket();
        }

        boolean add(Op op) {
            if (op.completed.get() || op.expiration < current + tick)
                return false;
            if (op.expiration >= current + tick * SLOTS)
                return overflow().add(op);
            long start = op.expiration - op.expiration % tick;
            Bucket bucket = buckets[(int) (start / tick % SLOTS)];
            bucket.add(op);
            if (bucket.expiration.getAndSet(start) != start)
                queue.offer(bucket);
            return true;
        }

        private synchronized Wheel overflow() {
            if (overflow == null)
                overflow = new Wheel(tick * SLOTS, current);
            return overflow;
        }

        void advance(long time) {
            if (time < current + tick)
                return;
            current = time - time % tick;
            if (overflow != null)
                overflow.advance(current);
        }
    }

    /** Watchers by key, with a lock for changes of the map. */
    private static final class Shard {
        final ConcurrentHashMap<Long, Queue<Op>> watchers = new ConcurrentHashMap<>();

        synchronized void watch(Long key, Op op) {
            watchers.computeIfAbsent(key, k -> new ConcurrentLinkedQueue<>()).add(op);
        }

        synchronized Queue<Op> find(Long key) {
            return watchers.get(key);
        }

        /** Remove the completed operations of a key, and complete others if asked to. */
        int walk(Long key, Queue<Op> ops, boolean complete) {
            int[] completed = {0};
            ops.removeIf(op -> {
                if (op.completed.get())
                    return true;
                if (!complete || !op.tryComplete())
                    return false;
                completed[0]++;
                return true;
            });
            synchronized (this) {
                if (ops.isEmpty())
                    watchers.remove(key, ops);
            }
            return completed[0];
        }
    }

    private final DelayQueue<Bucket> queue = new DelayQueue<>();
    private final AtomicInteger delayed = new AtomicInteger();
    private final AtomicInteger estimated = new AtomicInteger();
    private final ReentrantReadWriteLock wheelLock = new ReentrantReadWriteLock();
    private final Wheel wheel = new Wheel(1, now());
    private final ExecutorService executor = Executors.newFixedThreadPool(1, this::daemon);
    private final Shard[] shards = new Shard[SHARDS];

    Purgatory() {
        for (int i = 0; i < SHARDS; i++)
            shards[i] = new Shard();
        daemon(this::reap).start();
    }

    private Thread daemon(Runnable runnable) {
        Thread thread = new Thread(runnable);
        thread.setDaemon(true);
        return thread;
    }

    private static long now() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }

    private Shard shard(long key) {
        return shards[(int) (key % SHARDS)];
    }

    /** To a wheel, or to the executor if the operation is due. */
    private void place(Op op) {
        if (!wheel.add(op) && !op.completed.get())
            executor.submit(() -> {
                if (op.forceComplete())
                    op.item.run();
            });
    }

    private void advanceClock() throws InterruptedException {
        Bucket bucket = queue.poll(REAPER_MS, TimeUnit.MILLISECONDS);
        wheelLock.writeLock().lock();
        for (; bucket != null; bucket = queue.poll()) {
            wheel.advance(bucket.expiration.get());
            bucket.flush();
        }
        wheelLock.writeLock().unlock();
        if (estimated.get() - delayed.get() <= PURGE_INTERVAL)
            return;
        estimated.set(delayed.get());
        for (Shard shard : shards)
            shard.watchers.forEach((key, ops) -> shard.walk(key, ops, false));
    }

    private void reap() {
        try {
            while (true)
                advanceClock();
        } catch (InterruptedException e) {
            Jobs.fail("interrupted");
        }
    }

    private Op start(Op op) {
        wheelLock.readLock().lock();
        place(op);
        wheelLock.readLock().unlock();
        if (op.completed.get())
            op.leaveWheel();
        return op;
    }

    @Override
    Object add(Jobs.Item item, long ns) {
        return start(new Op(item, 1, ns));
    }

    @Override
    boolean cancel(Object handle) {
        return ((Op) handle).forceComplete();
    }

    /** tryCompleteElseWatch() of Kafka: no signal has arrived before. */
    @Override
    void watch(Jobs.Item item, long ns, int need) {
        Op op = new Op(item, need, ns);
        item.handle = op;
        for (long key = item.key; key < item.key + Jobs.KEYS; key++)
            shard(key).watch(key, op);
        estimated.incrementAndGet();
        start(op);
    }

    /** checkAndComplete() of Kafka. */
    @Override
    boolean signal(Jobs.Item item, long key) {
        ((Op) item.handle).signals.incrementAndGet();
        Shard shard = shard(key);
        Queue<Op> ops = shard.find(key);
        return ops != null && shard.walk(key, ops, true) == 1;
    }

    @Override
    int watched() {
        int nr = 0;
        for (Shard shard : shards)
            nr += shard.watchers.size();
        return nr;
    }
}
