//go:build linux

package vm_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/multilink/vm/vmtest"
)

func TestInstance_kernelPlane_survivesItsRadios(t *testing.T) {
	t.Parallel()
	config := machine()
	config.Modules = append(config.Modules, "bonding max_bonds=0", "wireguard", "vxlan")
	survive(t, config, vmtest.Build(t, module+"test/multilink/vm/instance"), map[string]any{"policy": "active-backup", "replay": false})
}

func TestInstance_bond_survivesItsRadios(t *testing.T) {
	t.Parallel()
	survive(t, machine(), vmtest.Build(t, module+"cmd/multilink"), map[string]any{"policy": "active-backup", "replay": true})
}

// module is how the packages of the project begin.
const module = "github.com/iotenablers/enablers/"

// survive has a server and a client of a program lose one technology after the other,
// and get them back.
func survive(t *testing.T, config vmtest.Config, program string, bond map[string]any) {
	config.Files = map[string]string{"/bin/multilink": program}
	n := newNetwork(t, vmtest.Boot(t, config))
	client, server := joined(t, n, "/bin/multilink", bond)
	carriedBy := func(link string) {
		t.Helper()
		for name, one := range map[string]*instance{"client": client, "server": server} {
			await(t, "the "+name+" to use "+link, func() bool { return one.active() == link })
		}
		n.awaitPing(t, bonded)
	}
	carriedBy("wifi")
	pings := n.gateway.Start(t, vmtest.Program{Argv: []string{"busybox", "ping", "-i", "0.5", bonded}})

	for _, step := range []struct{ cut, restored, next string }{
		{cut: "wifi", next: "mesh"},
		{cut: "mesh", next: "5g"},
		{restored: "mesh", next: "mesh"},
		{restored: "wifi", next: "wifi"},
	} {
		if step.cut != "" {
			n.silence(t, step.cut)
		} else {
			n.restore(t, step.restored)
		}
		carriedBy(step.next)
	}

	n.accessPoint.Stop(t, syscall.SIGTERM)
	carriedBy("mesh")
	n.startAccessPoint(t)
	carriedBy("wifi")
	pings.Stop(t, syscall.SIGINT)
	_, figures, _ := strings.Cut(pings.Output(), "--- ")
	t.Logf("through six changes of link, in a machine that is slow: %s", figures)
	for _, one := range []*instance{client, server} {
		require.NoError(t, one.process.Err(), "it has to run until the end")
	}
}
