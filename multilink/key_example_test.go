package multilink_test

import (
	"fmt"

	"github.com/iotenablers/enablers/multilink"
)

// A key prints as itself only where that is asked for.
func ExampleParseKey() {
	key, err := multilink.ParseKey("YAnz5TF+lXXJte14tji3zlMNftUL5R+ncM3Cb8pAxn4=")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(key, len(key.Base64()))
	_, err = multilink.ParseKey("short")
	fmt.Println(err)
	// Output:
	// (key) 44
	// parse key: must be 32 bytes in base64: multilink: invalid
}
