// SPDX-License-Identifier: GPL-2.0

// Publish a signal and wait for the acknowledgement of the stream:
//
//	publish SUBJECT ID SIGNAL
//
// NATS_URL has the servers and the user. SSL_CERT_FILE is the authority of their certificates.
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	connection, err := nats.Connect(os.Getenv("NATS_URL"), nats.MaxReconnects(-1))
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
		ack, err := js.Publish(os.Args[1], []byte(os.Args[3]), nats.MsgId(os.Args[2]))
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
