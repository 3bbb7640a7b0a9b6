package multilink_test

import (
	"fmt"
	"time"

	"github.com/iotenablers/enablers/multilink"
)

// The packets of a bond wait in the queue of their link.
func ExampleNewScheduler() {
	now := time.Unix(0, 0)
	bond, err := multilink.NewBond(multilink.BondConfig{}, []multilink.LinkConfig{{Name: "wifi", Kind: multilink.WiFi}}, 1, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	queue := multilink.NewScheduler([]multilink.Class{{Name: "alarms", Control: true}}, 8000)

	var out multilink.Output
	bond.Tick(now, &out)
	for _, packet := range out.Packets {
		queue.Push(now, packet)
	}
	waiting := queue.Stats().Packets
	for _, packet := range queue.Pop(now, 64, nil) {
		packet.Buffer.Release()
	}
	fmt.Println(waiting, queue.Bytes(), queue.Next(now).IsZero())
	// Output:
	// 1 0 true
}
