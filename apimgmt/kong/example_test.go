package kong_test

import (
	"context"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/apimgmt/kong"
)

func ExampleNew() {
	gateway, err := kong.New(kong.Config{URL: "http://127.0.0.1:1", Attempts: 1, Timeout: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = gateway.Kinds(context.Background())
	fmt.Println(err != nil)

	_, err = kong.New(kong.Config{URL: "kong:8001"})
	fmt.Println(err)
	// Output:
	// true
	// kong: URL "kong:8001": expected http://HOST or https://HOST
}
