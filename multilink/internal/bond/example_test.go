package bond_test

import (
	"fmt"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/bond"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Two bonds and a wire that takes no time: what one wants sent is given to the
// other.
func ExampleNew() {
	links := []settings.Link{
		{Name: "wlan0", Kind: settings.WiFi, Priority: 1},
		{Name: "wwan0", Kind: settings.FiveG, Priority: 2, Metered: true},
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var ends [2]*bond.Bond
	for i := range ends {
		bond, err := bond.New(settings.Bond{}, links, uint64(0x1234+i), now)
		if err != nil {
			fmt.Println(err)
			return
		}
		ends[i] = bond
	}
	carry := func(from int, out *bond.Output) {
		var received bond.Output
		for _, packet := range out.Packets {
			ends[1-from].Receive(now, packet.Link, packet.Data(), &received)
			packet.Buffer.Release()
		}
		for _, frame := range received.Frames {
			fmt.Printf("%s\n", frame)
		}
	}
	for range 300 { // three seconds of probes
		now = now.Add(10 * time.Millisecond)
		for i, end := range ends {
			var out bond.Output
			end.Tick(now, &out)
			carry(i, &out)
		}
	}
	fmt.Println("active:", ends[0].Status(now).ActiveLink)

	var out bond.Output
	ends[0].Send(now, []byte("a frame"), -1, 0, &out)
	carry(0, &out)
	// Output:
	// active: wlan0
	// a frame
}
