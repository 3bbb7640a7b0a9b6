//go:build linux

package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// ipk is the file of the package for a router with this machine's processor.
func ipk() string {
	architecture := map[string]string{"amd64": "x86_64", "arm64": "aarch64_generic", "riscv64": "riscv64_riscv64"}[runtime.GOARCH]
	return "multilink_1.2.3_" + architecture + ".ipk"
}

// unpack unpacks the package of OpenWrt as opkg does, and returns the folder.
func unpack(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	output(t, "sh", "-c", `cd "$2" && tar xzf "$1" && mkdir data control && tar xzf data.tar.gz -C data && tar xzf control.tar.gz -C control`,
		"sh", pkg(t, ipk()), folder)
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
	require.Regexp(t, `(?m)^Version: 1\.2\.3$`, string(control))
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

// The page's commands, with stand-ins for opkg, which installs below a folder, for UCI, and for the
// script that starts services.
func TestOpenWrt_theServiceIsSetUpAsTyped(t *testing.T) {
	commands := interop.Block(t, page, "opkg install")
	folder, programs := t.TempDir(), t.TempDir()
	output(t, "cp", pkg(t, ipk()), folder)
	stub, err := filepath.Abs("testdata/rc.common")
	require.NoError(t, err)
	uci, err := filepath.Abs("testdata/uci")
	require.NoError(t, err)
	for name, script := range map[string]string{
		"opkg": `tar xzf "$2" && tar xzf data.tar.gz && sed -i "s|/etc/multilink|$PWD/etc/multilink|" etc/config/multilink`,
		"uci":  `. "` + uci + `"`,
		"init": `busybox sh "` + stub + `" "$SERVICE" "$CONFIG"`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\nset -e\n"+script+"\n"), 0o700))
	}
	typed := strings.NewReplacer(
		"multilink_1.2.3_aarch64_cortex-a53.ipk", ipk(), "/etc/init.d/multilink reload", "init",
	).Replace(commands)
	command := exec.Command("sh", "-ec", typed)
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"),
		"CONFIG="+filepath.Join(folder, "etc/config/multilink"), "SERVICE="+filepath.Join(folder, "etc/init.d/multilink"))
	text, err := command.CombinedOutput()
	require.NoError(t, err, string(text))
	asked := strings.Split(string(text), "\n")
	for _, line := range []string{"instance main", "command /usr/bin/multilink", "command -role=client", "command -interfaces=wlan*"} {
		require.Contains(t, asked, line)
	}
}
