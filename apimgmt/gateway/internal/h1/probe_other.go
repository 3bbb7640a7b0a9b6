//go:build !unix

package h1

import "net"

// probe cannot look into a connection here.
type probe struct{}

func newProbe(net.Conn) *probe { return nil }

func (*probe) quiet() bool { return true }

func isReset(err error) bool { return err != nil }
