//go:build linux

package faults

import (
	"fmt"
	"sync/atomic"
)

// block is a server: a command, and what can be written to it.
type block struct {
	command string
	// arguments returns the flags besides -data for a process whose ports begin at port.
	arguments func(port int) []string
	// kinds are what it stores, given its ports and its folder.
	kinds func(port int, data string) []kind
}

func blocks() []block {
	at := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	return []block{
		{
			command:   "annotator",
			arguments: func(port int) []string { return []string{"-listen", at(port)} },
			kinds:     func(port int, _ string) []kind { return channels(newClient(port)) },
		},
		{
			command:   "modelrepo",
			arguments: func(port int) []string { return []string{"-listen", at(port)} },
			kinds:     func(port int, _ string) []kind { return models(newClient(port)) },
		},
		{
			command:   "flcollector",
			arguments: func(port int) []string { return []string{"-listen", at(port), "-grpc-listen", at(port + 1)} },
			kinds:     func(port int, _ string) []kind { return trainings(newClient(port)) },
		},
		{
			command: "apimanager",
			arguments: func(port int) []string {
				return []string{"-listen", at(port), "-gateway-listen", at(port + 1), "-admin-listen", at(port + 2)}
			},
			kinds: func(port int, data string) []kind { return published(newClient(port), newClient(port+2), data) },
		},
		{
			command: "multilink",
			arguments: func(port int) []string {
				return []string{"-role", "server", "-listen", at(port), "-tap", fmt.Sprintf("tap%d", port), "-address", "10.15.0.1/16"}
			},
			kinds: func(port int, data string) []kind { return attached(newClient(port), data) },
		},
		{
			command: "enablers",
			arguments: func(port int) []string {
				return []string{"-listen", at(port), "-modelrepo", at(port + 1), "-flcollector", at(port + 2), "-flcollector-grpc", at(port + 3),
					"-apimanager", at(port + 4), "-gateway", at(port + 5), "-gateway-admin", at(port + 6), "-mqtt", at(port + 7),
					"-multilink", at(port + 8), "-multilink-client", at(port + 9)}
			},
			kinds: func(port int, data string) []kind {
				all := channels(newClient(port))
				all = append(all, models(newClient(port+1))...)
				all = append(all, trainings(newClient(port+2))...)
				return append(all, published(newClient(port+4), newClient(port+6), data+"/apimanager")...)
			},
		},
	}
}

var ports atomic.Int64 // that are in use, by sixteen

// newPort returns the first of sixteen ports. The network namespace belongs to the tests, and
// the ports for outgoing connections begin behind these.
func newPort() int { return 10000 + 16*int(ports.Add(1)%1300) }
