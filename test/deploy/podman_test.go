//go:build linux

package deploy_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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
	scratch, inside := inNamespaces(t, slices.Collect(maps.Keys(blocks()))...)
	if !inside {
		return
	}
	defaults := mustRender(t, "defaults")
	for block, w := range defaults.workloads() {
		t.Run(block, func(t *testing.T) { runContainer(t, defaults, w, scratch, nil) })
	}
	t.Run("multilink", func(t *testing.T) {
		r := mustRender(t, "multilink-server-on-the-host")
		runContainer(t, r, r.workloads()["multilink"], scratch, nil)
	})
	t.Run("gateway", func(t *testing.T) { runGatewayContainer(t, scratch) })
}

// runGatewayContainer runs a gateway beside the manager that it follows, whose ports are others here.
func runGatewayContainer(t *testing.T, scratch string) {
	t.Helper()
	r := mustRender(t, "gateways-that-follow-the-manager")
	load(t, scratch, "apimanager")
	manager := startContainer(t, scratch, r.workloads()["apimanager"].pod.Spec.Containers[0].Image, nil,
		podmanOptions(t, r, r.workloads()["apimanager"], map[string]string{
			"APIMANAGER_LISTEN": ":9999", "APIMANAGER_GATEWAY_LISTEN": ":9100", "APIMANAGER_ADMIN_LISTEN": ":9101",
		})...)
	manager.awaitOK(t, "http://127.0.0.1:9999/readyz")
	runLoaded(t, r, r.workloads()["gateway"], scratch, map[string]string{"APIMANAGER_CONTROL_PLANE": "http://127.0.0.1:9101"})
	manager.end(t)
}

// inNamespaces runs the test that calls it again in namespaces of its own, with images that it
// builds, unless there are some. Within these it returns a folder for containers.
func inNamespaces(t *testing.T, subtests ...string) (scratch string, inside bool) {
	t.Helper()
	if os.Getenv(requirePeers) != "1" {
		t.Skipf("containers take root and podman: it runs with %s=1", requirePeers)
	}
	if scratch = os.Getenv(scratchVariable); scratch != "" {
		require.NoError(t, enterNamespaces())
		return scratch, true
	}
	runInNamespaces(t, subtests)
	return "", false
}

func runInNamespaces(t *testing.T, subtests []string) {
	t.Helper()
	require.Zero(t, os.Geteuid(), "containers and mounts take root")
	scratch := t.TempDir()
	images := os.Getenv(imagesVariable)
	if images == "" {
		images = filepath.Join(scratch, "images")
		build := exec.CommandContext(t.Context(), "../../deploy/images/build.sh", images, "linux/"+runtime.GOARCH)
		build.Env = append(os.Environ(), "VERSION="+version, "COMMANDS=annotator,modelrepo,flcollector,apimanager,multilink")
		text, err := build.CombinedOutput()
		require.NoErrorf(t, err, "%s", text)
	}
	runtime.LockOSThread() // the end of this thread would end the tests
	defer runtime.UnlockOSThread()
	inside := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	inside.Env = append(os.Environ(), scratchVariable+"="+scratch, imagesVariable+"="+images)
	inside.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL,
	}
	text, err := inside.CombinedOutput()
	require.NoErrorf(t, err, "%s", text)
	for _, name := range subtests {
		require.Contains(t, string(text), "--- PASS: "+t.Name()+"/"+name)
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

// load loads the image of a command, which is removed after the test: disks are small.
func load(t *testing.T, scratch, command string) {
	t.Helper()
	loaded := output(t, podman(scratch, "load", "-q", "-i", filepath.Join(os.Getenv(imagesVariable), command+".tar")))
	_, image, found := strings.Cut(strings.TrimSpace(loaded), ": ")
	require.True(t, found, loaded)
	t.Cleanup(func() { output(t, podman(scratch, "rmi", "-f", image)) })
}

// container is a container that runs.
type container struct {
	*process
	pidFile string
}

// startContainer runs an image by the name that a pod or a service has for it. There is no network
// to pull another one.
func startContainer(t *testing.T, scratch, image string, args []string, options ...string) *container {
	t.Helper()
	c := &container{pidFile: filepath.Join(t.TempDir(), "pid")}
	all := append([]string{"run", "--rm", "--pidfile", c.pidFile, "--network", "host", "--cgroups=disabled",
		"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"}, options...)
	c.process = start(t, "/usr/bin/env", append(append([]string{"podman"}, podman(scratch, append(all, image)...).Args[1:]...), args...),
		map[string]string{"PATH": os.Getenv("PATH"), "HOME": scratch})
	return c
}

func (c *container) awaitOK(t *testing.T, url string) {
	t.Helper()
	c.await(t, func() error {
		_, err := get(t.Context(), url, "")
		return err
	})
}

// pid is the number of the program, on this machine.
func (c *container) pid(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(c.pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return pid
}

// end ends the program as Kubernetes does. It has to end without a fault.
func (c *container) end(t *testing.T) {
	t.Helper()
	require.NoError(t, syscall.Kill(c.pid(t), syscall.SIGTERM))
	select {
	case err := <-c.ended:
		require.NoErrorf(t, err, "%s", c.errors)
	case <-time.After(patience):
		require.Fail(t, "it does not end")
	}
}

func runContainer(t *testing.T, r release, w workload, scratch string, other map[string]string) {
	t.Helper()
	load(t, scratch, blockCommand(w.block))
	runLoaded(t, r, w, scratch, other)
}

// runLoaded runs the container of a pod, with some variables that are other ones here.
func runLoaded(t *testing.T, r release, w workload, scratch string, other map[string]string) {
	t.Helper()
	spec := w.pod.Spec.Containers[0]
	c := startContainer(t, scratch, spec.Image, spec.Args, podmanOptions(t, r, w, other)...)
	for _, probe := range []*corev1.Probe{spec.StartupProbe, spec.LivenessProbe, spec.ReadinessProbe} {
		c.awaitOK(t, fmt.Sprintf("http://127.0.0.1:%d%s", blocks()[w.block][probe.HTTPGet.Port.StrVal], probe.HTTPGet.Path))
	}
	// The pod of "helm test" asks this.
	test := named[*corev1.Pod](t, r, w.object.GetName()+"-test").Spec.Containers[0].Command
	url := regexp.MustCompile(`//[a-z-]+:`).ReplaceAllString(test[len(test)-1], "//127.0.0.1:")
	require.NotEqual(t, test[len(test)-1], url)
	_, err := get(t.Context(), url, "")
	require.NoError(t, err)

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid(t)))
	require.NoError(t, err)
	require.Contains(t, string(status), fmt.Sprintf("Uid:\t%d\t", *w.pod.Spec.SecurityContext.RunAsUser))
	c.end(t)
}

// podmanOptions are the options of podman that a pod's specification stands for.
func podmanOptions(t *testing.T, r release, w workload, other map[string]string) []string {
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
	maps.Copy(env, other)
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
