package keep_test

import (
	"fmt"
	"log"

	"github.com/iotenablers/enablers/internal/keep"
)

func ExampleUnmarshal() {
	stored := []byte(`{"title":"Sensor","owner":{"name":"Ada","since":2025},"colour":"red"}`)
	var record struct {
		Title string `json:"title"`
		Owner struct {
			Name string `json:"name"`
		} `json:"owner"`
	}
	unknown, err := keep.Unmarshal(stored, &record)
	if err != nil {
		log.Fatal(err)
	}
	record.Owner.Name = "Grace"
	data, err := unknown.Marshal(record)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(data))
	// Output: {"title":"Sensor","owner":{"name":"Grace","since":2025},"colour":"red"}
}
