package members_test

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/members"
)

func ExampleParse() {
	o, err := members.Parse([]byte(`{"host": "broker.example", "port": "1883"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.RequiredText("host"), o.RequiredInteger("port", 1, 65535))
	fmt.Println(o.Err())
	// Output:
	// broker.example 0
	// port: expected an integer, got the string "1883"
}
