package flower_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCollector_superNode_isRefusedWithAHint(t *testing.T) {
	for _, version := range []string{"1.30.0", newest} { // over gRPC and, since 1.40, HTTP
		t.Run(version, func(t *testing.T) {
			python := install(t, version)
			c := startCollector(t, setup{})
			node := startSuperNode(t, python, node{version: version, fleet: c.clients})
			select {
			case <-node.Ended():
			case <-time.After(patience):
				require.Fail(t, "the SuperNode goes on", node.Output())
			}
			require.NotZero(t, node.AwaitEnd())
			require.Contains(t, node.Output(), "This port is not for SuperNodes")
			require.Contains(t, node.Output(), "Start flower-supernode with --superlink ")
			require.Contains(t, node.Output(), "which is the address of -fleet")
			require.Contains(t, c.Output(), "a SuperNode was refused")
		})
	}
}
