// SPDX-License-Identifier: GPL-2.0

import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import java.util.concurrent.TimeUnit;

/** Netty's HashedWheelTimer, with its default tick of 100 ms, and with one of 1 ms. */
class Netty extends Jobs.Peer {
    private final HashedWheelTimer wheel;

    Netty() {
        this(100);
    }

    Netty(int tick) {
        wheel = new HashedWheelTimer(tick, TimeUnit.MILLISECONDS);
        wheel.start();
    }

    @Override
    Object add(Jobs.Item item, long ns) {
        return wheel.newTimeout(timeout -> item.run(), ns, TimeUnit.NANOSECONDS);
    }

    @Override
    boolean cancel(Object handle) {
        return ((Timeout) handle).cancel();
    }
}

final class Netty_1ms extends Netty {
    Netty_1ms() {
        super(1);
    }
}
