package entity_test

import (
	"fmt"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

func ExampleRead() {
	config, err := entity.Read([]byte(`
_format_version: "3.0"
services:
- name: things
  url: https://things.example/v1
  routes:
  - name: list
    methods: [GET]
    paths: [/things]
`), entity.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	service, route := config.Services[0], config.Routes[0]
	fmt.Println(service.Protocol, service.Host, service.Port, service.Path)
	fmt.Println(route.Name, route.Service.ID == service.ID, *route.StripPath)
	// Output:
	// https things.example 443 /v1
	// list true true
}

func ExampleDiff() {
	now := entity.Config{Services: []entity.Service{{Name: "things", Host: "things.example"}}}
	next := entity.Config{Services: []entity.Service{{Name: "things", Host: "things.example", Port: 8080}}}
	changes, err := entity.Diff(now, next)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, change := range changes {
		fmt.Println(change)
	}
	// Output: update service things: port
}
