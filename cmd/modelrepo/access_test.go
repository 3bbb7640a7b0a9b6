package main

import (
	"testing"

	"github.com/iotenablers/enablers/cmd/internal/door/doortest"
)

func TestRun_hasTheDoor(t *testing.T) {
	doortest.Command{
		Run: run,
		Args: func(host, folder string) []string {
			return []string{"-listen", host + ":0", "-data", folder}
		},
		Read: "GET /", Change: "POST /weather",
	}.Check(t)
}
