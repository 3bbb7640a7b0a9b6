package entity_test

import (
	"errors"
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

func ExampleNormal_Plan() {
	version := func(name string) entity.Config {
		return entity.Config{Services: []entity.Service{{Name: name, Host: "things.example"}},
			Routes: []entity.Route{{Name: name + "_list", Paths: []string{"/things"}, Service: &entity.Ref{Name: name}}}}
	}
	served, err := entity.Config{}.Replace("enabler:things", version("things-1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	served.Plugins = []entity.Plugin{{Name: "key-auth", Service: &entity.Ref{Name: "things-1"}}} // by an operator
	before, err := entity.NewNormal(served)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, _, err := before.Plan("enabler:things", version("things-2"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, carried := range plan.Carried {
		fmt.Println(carried)
	}
	_, _, err = before.Plan("enabler:things", entity.Config{})
	fmt.Println(errors.Is(err, entity.ErrAttached))
	// Output:
	// plugin "key-auth" of service "things-1" is carried over to service "things-2"
	// true
}
