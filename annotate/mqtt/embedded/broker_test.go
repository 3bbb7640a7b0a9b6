package embedded_test

import (
	"fmt"
	"net"

	"github.com/iotenablers/enablers/annotate/mqtt/embedded"
)

func ExampleNew() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	broker, err := embedded.New(listener, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("serve:", broker.Serve())
	fmt.Println("close:", broker.Close())
	// Output:
	// serve: <nil>
	// close: <nil>
}
