// SPDX-License-Identifier: GPL-2.0

// Publish a signal and wait for the acknowledgement of the stream:
//
//	publish URL SUBJECT ID SIGNAL
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	connection, err := nats.Connect(os.Args[1], nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	js, err := connection.JetStream()
	if err != nil {
		log.Fatal(err)
	}
	// Each try has the same message id, so that the stream stores the signal once.
	for try := 0; ; try++ {
		ack, err := js.Publish(os.Args[2], []byte(os.Args[4]), nats.MsgId(os.Args[3]))
		if err == nil {
			fmt.Println("stored:", !ack.Duplicate)
			return
		}
		if try == 9 {
			log.Fatal(err)
		}
		time.Sleep(time.Second)
	}
}
