//go:build linux

package deploy_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const (
	// requirePeers makes tests fail that would skip.
	requirePeers = "ENABLERS_REQUIRE_PEERS"
	// imagesVariable names a folder with images that are built already.
	imagesVariable = "ENABLERS_IMAGES"
	// scratchVariable names the folder for containers, inside the namespaces.
	scratchVariable = "DEPLOY_SCRATCH"
)

// TestPods_runInPodman runs the rendered pods with the images of deploy/images, as Kubernetes would:
// with their user, capabilities, environment, volumes, ports and a read-only root. They answer their
// probes and end without a fault. It takes root and podman, and runs in namespaces of its own.
func TestPods_runInPodman(t *testing.T) {
	if os.Getenv(requirePeers) != "1" {
		t.Skipf("containers take root and podman: it runs with %s=1", requirePeers)
	}
	scratch := os.Getenv(scratchVariable)
	if scratch == "" {
		runInNamespaces(t)
		return
	}
	require.NoError(t, enterNamespaces())
	defaults := mustRender(t, "defaults")
	multilink := mustRender(t, "multilink-server-on-the-host")
	for block, w := range multilink.workloads() {
		r := defaults
		if block == "multilink" {
			r = multilink
		} else {
			w = defaults.workloads()[block]
		}
		t.Run(block, func(t *testing.T) { runContainer(t, r, w, scratch) })
	}
}

// runInNamespaces builds the images, unless there are some, and runs the test again in namespaces
// of its own.
func runInNamespaces(t *testing.T) {
	t.Helper()
	require.Zero(t, os.Geteuid(), "containers and mounts take root")
	scratch := t.TempDir()
	images := os.Getenv(imagesVariable)
	if images == "" {
		images = filepath.Join(scratch, "images")
		build := exec.CommandContext(t.Context(), "../../deploy/images/build.sh", images, "linux/"+runtime.GOARCH)
		build.Env = append(os.Environ(), "COMMANDS=annotator,modelrepo,flcollector,apimanager,multilink")
		text, err := build.CombinedOutput()
		require.NoErrorf(t, err, "%s", text)
	}
	runtime.LockOSThread() // the end of this thread would end the tests
	defer runtime.UnlockOSThread()
	inside := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPods_runInPodman$", "-test.v")
	inside.Env = append(os.Environ(), scratchVariable+"="+scratch, imagesVariable+"="+images)
	inside.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL,
	}
	text, err := inside.CombinedOutput()
	require.NoErrorf(t, err, "%s", text)
	for block := range blocks() {
		require.Contains(t, string(text), "--- PASS: TestPods_runInPodman/"+block)
	}
}

// enterNamespaces gives the namespaces a loopback, control groups for podman and the device of tunnels.
func enterNamespaces() error {
	steps := []struct {
		what string
		do   func() error
	}{
		{"keep mounts in the namespace", func() error { return syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") }},
		{"mount control groups", func() error { return syscall.Mount("none", "/sys/fs/cgroup", "cgroup2", 0, "") }},
		{"make a folder for the device", func() error { return os.MkdirAll("/dev/net", 0o755) }},
		{"mount one for the device", func() error { return syscall.Mount("none", "/dev/net", "tmpfs", 0, "mode=0755") }},
		{"make the device", func() error { return syscall.Mknod("/dev/net/tun", syscall.S_IFCHR|0o666, 10<<8|200) }},
		{"bring the loopback up", func() error { return exec.Command("ip", "link", "set", "lo", "up").Run() }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// podman returns a command of podman with storage of its own.
func podman(scratch string, args ...string) *exec.Cmd {
	return exec.Command("podman", append([]string{
		"--root", filepath.Join(scratch, "root"), "--runroot", filepath.Join(scratch, "run"),
		"--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none",
	}, args...)...)
}

func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	require.NoErrorf(t, command.Run(), "%s: %s", command, &errs)
	return out.String()
}

func runContainer(t *testing.T, r release, w workload, scratch string) {
	t.Helper()
	loaded := output(t, podman(scratch, "load", "-q", "-i", filepath.Join(os.Getenv(imagesVariable), w.block+".tar")))
	_, image, found := strings.Cut(strings.TrimSpace(loaded), ": ")
	require.True(t, found, loaded)
	t.Cleanup(func() { output(t, podman(scratch, "rmi", "-f", image)) }) // disks are small

	container := w.pod.Spec.Containers[0]
	pidFile := filepath.Join(t.TempDir(), "pid")
	args := append([]string{"run", "--rm", "--pidfile", pidFile, "--network", "host", "--cgroups=disabled",
		"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"}, podmanOptions(t, r, w)...)
	p := start(t, "/usr/bin/env", append(append([]string{"podman"}, podman(scratch, append(args, image)...).Args[1:]...), container.Args...),
		map[string]string{"PATH": os.Getenv("PATH"), "HOME": scratch})

	for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		port := blocks()[w.block][probe.HTTPGet.Port.StrVal]
		p.await(t, func() error {
			_, err := get(t.Context(), fmt.Sprintf("http://127.0.0.1:%d%s", port, probe.HTTPGet.Path), "")
			return err
		})
	}
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	require.Contains(t, string(status), fmt.Sprintf("Uid:\t%d\t", *w.pod.Spec.SecurityContext.RunAsUser))
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	select {
	case err := <-p.ended:
		require.NoErrorf(t, err, "%s", p.errors)
	case <-t.Context().Done():
		require.Fail(t, "it does not end")
	}
}

// podmanOptions are the options of podman that a pod's specification stands for.
func podmanOptions(t *testing.T, r release, w workload) []string {
	t.Helper()
	spec, container := w.pod.Spec, w.pod.Spec.Containers[0]
	options := []string{"--user", fmt.Sprintf("%d:%d", *spec.SecurityContext.RunAsUser, *spec.SecurityContext.RunAsGroup),
		"--group-add", strconv.FormatInt(*spec.SecurityContext.FSGroup, 10)}
	if *container.SecurityContext.ReadOnlyRootFilesystem {
		options = append(options, "--read-only", "--read-only-tmpfs=false")
	}
	if !*container.SecurityContext.AllowPrivilegeEscalation {
		options = append(options, "--security-opt", "no-new-privileges")
	}
	for _, capability := range container.SecurityContext.Capabilities.Drop {
		options = append(options, "--cap-drop", string(capability))
	}
	for _, capability := range container.SecurityContext.Capabilities.Add {
		options = append(options, "--cap-add", string(capability))
	}
	env, elsewhere := r.environment(t, w)
	require.Empty(t, elsewhere)
	for name, value := range env {
		options = append(options, "--env", name+"="+value)
	}
	group := int(*spec.SecurityContext.FSGroup)
	for _, mount := range container.VolumeMounts {
		from, readOnly := t.TempDir(), mount.ReadOnly
		for _, volume := range spec.Volumes {
			switch {
			case volume.Name != mount.Name:
			case volume.HostPath != nil:
				from = ""
				options = append(options, "--device", volume.HostPath.Path+":"+mount.MountPath)
			case volume.Secret != nil:
				secret := named[*corev1.Secret](t, r, volume.Secret.SecretName)
				for _, item := range volume.Secret.Items {
					file := filepath.Join(from, item.Path)
					mode := os.FileMode(*volume.Secret.DefaultMode)
					require.NoError(t, errors.Join(os.WriteFile(file, secret.Data[item.Key], mode), os.Chown(file, 0, group)))
				}
			}
		}
		if from == "" {
			continue
		}
		// As Kubernetes does for fsGroup: the folder is root's, and the group may write.
		require.NoError(t, errors.Join(os.Chown(from, 0, group), os.Chmod(from, 0o770|os.ModeSetgid)))
		option := from + ":" + mount.MountPath
		if readOnly {
			option += ":ro"
		}
		options = append(options, "--volume", option)
	}
	return options
}
