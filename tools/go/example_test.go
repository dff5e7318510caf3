// SPDX-License-Identifier: GPL-2.0

package twheel_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"twheel"
)

// Wait for an order with a timeout.
func order(ctx context.Context) (uint64, error) {
	purgatory, err := twheel.Open("")
	if err != nil {
		return 0, err
	}
	defer purgatory.Close()

	key, err := twheel.Text("order-17")
	if err != nil {
		return 0, err
	}
	wait, err := purgatory.Add(ctx, twheel.Operation{
		Keys: []twheel.Watch{{Key: key}}, Timeout: 5 * time.Second})
	if err != nil {
		return 0, err
	}

	// Usually this is another process, with a named purgatory.
	if _, err := purgatory.Signal(key, 7, 1, 0); err != nil {
		return 0, err
	}

	event, err := wait.Result()
	return event.Value, err
}

func TestExample(t *testing.T) {
	if _, err := os.Stat("/dev/twheel"); err != nil {
		t.Skip(err)
	}
	value, err := order(context.Background())
	if err != nil || value != 7 {
		log.Fatal(value, err)
	}
	fmt.Println("order 17: value", value)
}
