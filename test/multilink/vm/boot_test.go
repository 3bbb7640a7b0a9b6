//go:build linux

package vm_test

import (
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/multilink/vm/vmtest"
)

func TestGuestRunsProgramsOfTheHost(t *testing.T) {
	t.Parallel()
	guest := vmtest.Boot(t, vmtest.Config{
		Modules:  []string{"bonding max_bonds=0", "wireguard"},
		Programs: []string{"ip", "busybox"},
		Texts:    map[string]string{"/srv/greeting": "hello\n"},
	})
	root := guest.Root()
	require.Equal(t, "hello\n", root.Run(t, "busybox", "cat", "/srv/greeting"))
	_, err := root.Try("busybox", "false")
	require.ErrorContains(t, err, "status 1")
	_, err = root.Try("nonesuch")
	require.ErrorContains(t, err, "not found")

	root.Run(t, "ip", "netns", "add", "aside")
	aside := guest.In("aside")
	aside.Run(t, "ip", "link", "add", "bond0", "type", "bond", "mode", "active-backup")
	aside.Run(t, "ip", "link", "add", "wg0", "type", "wireguard")
	require.Contains(t, aside.Run(t, "ip", "link"), "bond0")
	require.NotContains(t, root.Run(t, "ip", "link"), "bond0")

	endless := aside.Start(t, vmtest.Program{Argv: []string{"busybox", "sh", "-c", "echo begun; sleep 1000"}})
	await(t, "the process to begin", func() bool { return endless.Output() == "begun\n" })
	endless.Stop(t, syscall.SIGTERM)
	require.ErrorContains(t, endless.Err(), "terminated")

	aside.Run(t, "ip", "link", "set", "lo", "up")
	aside.Start(t, vmtest.Program{Argv: []string{"busybox", "httpd", "-f", "-h", "/srv", "-p", "127.0.0.1:80"}})
	await(t, "an answer", func() bool {
		answer, err := aside.HTTP().Get("http://127.0.0.1/greeting")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return err == nil && string(body) == "hello\n"
	})
	_, err = root.HTTP().Get("http://127.0.0.1/greeting")
	require.Error(t, err, "it is another network")
}
