//go:build linux

package packages

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// server is a package with a service.
type server struct {
	name   string
	starts bool // when it is installed
	args   []string
}

func servers() []server {
	free := func(flags ...string) (args []string) {
		for _, flag := range flags {
			args = append(args, flag, "127.0.0.1:0")
		}
		return args
	}
	return []server{
		{name: "annotator", starts: true, args: free("-listen")},
		{name: "apimanager", starts: true, args: free("-listen", "-gateway-listen", "-admin-listen")},
		{name: "enablers"},
		{name: "flcollector", starts: true, args: free("-listen", "-grpc-listen", "-fleet")},
		{name: "modelrepo", starts: true, args: free("-listen")},
		{name: "multilink", args: append(free("-listen"), "-role", "client")},
	}
}

func TestDebian_installUpgradeRemovePurge(t *testing.T) {
	for _, s := range servers() {
		t.Run(s.name, func(t *testing.T) {
			file := bring(t, pkg(t, s.name+"_*.deb"))
			newer := upgraded(t, file)
			at := func(name string) string { return machine() + name }
			wanted := at("/etc/systemd/system/multi-user.target.wants/" + s.name + ".service")
			data := at("/var/lib/private/" + s.name + "/store.db")
			settings := at("/etc/" + s.name + "/environment")

			inside(t, "dpkg", "-i", file)
			require.Contains(t, inside(t, "/usr/bin/"+s.name, "-version"), version)
			info, err := os.Stat(settings)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode(), "it may have secrets")
			_, err = os.Lstat(wanted)
			require.Equal(t, s.starts, err == nil, "whether it is enabled: %v", err)
			checkUnit(t, s.name)
			s.serve(t)

			require.NoError(t, os.WriteFile(settings, []byte("MINE=1\n"), 0o600))
			require.NoError(t, os.MkdirAll(filepath.Dir(data), 0o700))
			require.NoError(t, os.WriteFile(data, nil, 0o600))
			if !s.starts {
				inside(t, "systemctl", "enable", s.name+".service") // as an administrator does
			}
			inside(t, "dpkg", "-i", newer)
			require.Equal(t, "9.9.9", inside(t, "dpkg-query", "-W", "-f", "${Version}", s.name))
			require.FileExists(t, wanted, "an upgrade keeps what was enabled")
			text, err := os.ReadFile(settings)
			require.NoError(t, err)
			require.Equal(t, "MINE=1\n", string(text), "an upgrade keeps settings")
			require.FileExists(t, data, "an upgrade keeps data")
			inside(t, "dpkg", "-r", s.name)
			require.NoFileExists(t, at("/usr/bin/"+s.name))
			text, err = os.ReadFile(settings)
			require.NoError(t, err)
			require.Equal(t, "MINE=1\n", string(text), "a removal keeps settings")
			require.FileExists(t, data, "a removal keeps data")

			inside(t, "dpkg", "-P", s.name)
			require.NoDirExists(t, at("/etc/"+s.name))
			require.NoDirExists(t, filepath.Dir(data))
			_, err = os.Lstat(wanted)
			require.ErrorIs(t, err, os.ErrNotExist)
		})
	}
}

// upgraded returns a package of a later version.
func upgraded(t *testing.T, file string) string {
	t.Helper()
	inside(t, "sh", "-ec", `
		rm -rf /tmp/later && dpkg-deb -R "$1" /tmp/later
		sed -i 's/^Version: .*/Version: 9.9.9/' /tmp/later/DEBIAN/control
		dpkg-deb -Znone -b /tmp/later /tmp/later.deb`, "sh", file)
	return "/tmp/later.deb"
}

// The page's command, with Debian's apt.
func TestDebian_aptInstallsAsTyped(t *testing.T) {
	command := interop.Block(t, page, "apt install")
	typed := strings.Replace(command, "_amd64.deb", "_"+runtime.GOARCH+".deb", 1)
	bring(t, pkg(t, "modelrepo_*.deb"))
	inside(t, "sh", "-ec", "cd /tmp && "+typed)
	require.Contains(t, inside(t, "modelrepo", "-version"), version)
	inside(t, "dpkg", "-P", "modelrepo")
}

// checkUnit has systemd read the installed unit: what it does not know, it warns of.
func checkUnit(t *testing.T, name string) {
	t.Helper()
	text, err := exec.Command("chroot", machine(), "systemd-analyze", "verify", "--man=no",
		"/usr/lib/systemd/system/"+name+".service").CombinedOutput()
	require.NoError(t, err, string(text))
	for line := range strings.Lines(string(text)) {
		require.NotContains(t, line, name+".service", "a warning of systemd-analyze verify")
	}
}

// serve starts the installed program as its unit has it, without systemd, and ends it.
func (s server) serve(t *testing.T) {
	t.Helper()
	if s.args == nil {
		return // it takes ten ports; its image is tried
	}
	socket := "/tmp/notify-" + s.name
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: machine() + socket, Net: "unixgram"})
	require.NoError(t, err)
	defer func() { require.NoError(t, manager.Close()) }()
	command := exec.Command("chroot", append([]string{machine(), "/usr/bin/" + s.name, "-data", "/tmp/data-" + s.name}, s.args...)...)
	command.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket)
	process := interop.StartProcess(t, command)
	process.AwaitLine("listening on http://127.0.0.1:")
	require.Contains(t, notification(t, manager), "READY=1", "the unit is of the type notify")

	require.NoError(t, syscall.Kill(process.Pid(), syscall.SIGHUP), "ExecReload of the unit")
	require.Contains(t, notification(t, manager), "RELOADING=1")
	require.Contains(t, notification(t, manager), "READY=1")
	process.Stop()
	require.Contains(t, notification(t, manager), "STOPPING=1")
}

// notification returns the next datagram of a service to its manager.
func notification(t *testing.T, manager *net.UnixConn) string {
	t.Helper()
	text := make([]byte, 1024)
	require.NoError(t, manager.SetReadDeadline(time.Now().Add(time.Minute)))
	n, err := manager.Read(text)
	require.NoError(t, err)
	return string(text[:n])
}

func TestDebian_rmlIsInstalled(t *testing.T) {
	inside(t, "dpkg", "-i", bring(t, pkg(t, "rml_*.deb")))
	require.Contains(t, inside(t, "rml", "-version"), version)
	inside(t, "dpkg", "-P", "rml")
}
