//go:build linux

package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// unpack unpacks the package of OpenWrt as opkg does, and returns the folder.
func unpack(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	output(t, "sh", "-c", `cd "$2" && tar xzf "$1" && mkdir data control && tar xzf data.tar.gz -C data && tar xzf control.tar.gz -C control`,
		"sh", pkg(t, "multilink_*_x86_64.ipk"), folder)
	return folder
}

// requests starts the service with a configuration, and returns what procd is asked for.
func requests(t *testing.T, folder, config string) []string {
	t.Helper()
	stub, err := filepath.Abs("testdata/rc.common")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	printed := output(t, "busybox", "sh", stub, filepath.Join(folder, "data/etc/init.d/multilink"), file)
	return strings.Split(strings.TrimSpace(printed), "\n")
}

func TestOpenWrt_aNewInstallationStartsNothing(t *testing.T) {
	folder := unpack(t)
	config, err := os.ReadFile(filepath.Join(folder, "data/etc/config/multilink"))
	require.NoError(t, err)
	require.Equal(t, []string{"reload multilink"}, requests(t, folder, string(config)))

	control, err := os.ReadFile(filepath.Join(folder, "control/control"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^Version: 7\.8\.9$`, string(control))
	require.Regexp(t, `(?m)^Depends: kmod-tun, ca-bundle$`, string(control))
	conffiles, err := os.ReadFile(filepath.Join(folder, "control/conffiles"))
	require.NoError(t, err)
	require.Equal(t, "/etc/config/multilink", strings.TrimSpace(string(conffiles)))
	for _, script := range []string{"control/postinst", "control/prerm", "data/etc/init.d/multilink"} {
		output(t, "busybox", "sh", "-n", filepath.Join(folder, script))
	}
}

func TestOpenWrt_theConfigurationBecomesFlags(t *testing.T) {
	folder := unpack(t)
	data := t.TempDir()
	asked := requests(t, folder, `
config multilink 'main'
	option enabled '1'
	option role 'server'
	option listen '127.0.0.1:3333'
	option data '`+data+`/it'
	list address '10.9.0.1/24'
	list address 'fd00::1/64'
	list interfaces 'wlan*'
	option token 'not for all eyes: $HOME'
	option isolate 'on'
	option open_metrics '0'

config multilink 'off'
	option role 'client'
`)
	require.Equal(t, []string{
		"instance main", "command /usr/bin/multilink", "command -role=server", "command -listen=127.0.0.1:3333",
		"command -data=" + data + "/it", "command -address=10.9.0.1/24,fd00::1/64", "command -interfaces=wlan*", "command -isolate",
		"env MULTILINK_TOKEN=not for all eyes: $HOME",
	}, asked[:9])
	require.Contains(t, asked, "end")
	info, err := os.Stat(filepath.Join(data, "it"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	// The packed program takes these flags.
	program := filepath.Join(folder, "data/usr/bin/multilink")
	var args []string
	for _, line := range asked[2:] {
		if flag, is := strings.CutPrefix(line, "command "); is {
			args = append(args, flag)
		}
	}
	command := exec.Command(program, args...)
	command.Env = append(os.Environ(), "MULTILINK_TOKEN=not for all eyes: 1")
	process := interop.StartProcess(t, command)
	process.AwaitLine("listening on http://127.0.0.1:3333")
	process.Stop()
}

func TestOpenWrt_everyOptionIsAFlag(t *testing.T) {
	folder := unpack(t)
	script, err := os.ReadFile(filepath.Join(folder, "data/etc/init.d/multilink"))
	require.NoError(t, err)
	help := output(t, filepath.Join(folder, "data/usr/bin/multilink"), "-h")
	names := 0
	for _, group := range regexp.MustCompile(`(?s)\n(?:VALUES|LISTS|SWITCHES)="(.*?)"`).FindAllStringSubmatch(string(script), -1) {
		for name := range strings.FieldsSeq(group[1]) {
			names++
			require.Regexp(t, `(?m)^  -`+strings.ReplaceAll(name, "_", "-")+`( |$)`, help)
		}
	}
	require.Greater(t, names, 20)
}
