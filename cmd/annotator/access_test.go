package main

import (
	"testing"

	"github.com/iotenablers/enablers/cmd/internal/door/doortest"
)

func TestRun_hasTheDoor(t *testing.T) {
	doortest.Command{
		Run:  run,
		Args: func(host, folder string) []string { return []string{"-listen", host + ":0", "-data", folder} },
		Read: "GET /channels", Change: "POST /channels",
		Others: []doortest.Requests{{Read: "GET /ui/annotation/", Change: "POST /ui/annotation/connections"}},
	}.Check(t)
}

func TestRun_hasTheDoorInStandaloneMode(t *testing.T) {
	doortest.Command{
		Run: run,
		Args: func(host, _ string) []string {
			return []string{"-rest-host", host, "-rest-port", "0", "-standalone-mode"}
		},
		Read: "GET /channels", Change: "POST /channels", NoFolder: true,
	}.Check(t)
}
