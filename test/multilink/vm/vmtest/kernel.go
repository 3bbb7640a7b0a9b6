//go:build linux

package vmtest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// metapackage depends on the newest kernel of the distribution.
const metapackage = "linux-image-amd64"

// fetchLimit bounds the download of 70 MB, and unpacking it.
const fetchLimit = 5 * time.Minute

// kernel is an unpacked kernel: vmlinuz, and modules as NAME.ko, where NAME is as
// the kernel says it, with underscores.
type kernel struct{ home string }

// findKernel returns the kernel that the distribution has now. The first time
// it is fetched into the user's cache folder; without the network, any other that
// was fetched before will do.
func findKernel() (kernel, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return kernel{}, err
	}
	cache = filepath.Join(cache, "enablers-peers")
	name, err := kernelPackage()
	if err != nil && updateLists(context.Background()) == nil {
		name, err = kernelPackage()
	}
	if err == nil {
		home := filepath.Join(cache, name.pack+"_"+name.version)
		if _, missing := os.Stat(home); missing == nil {
			return kernel{home}, nil
		}
		if err = fetchKernel(name, home); err == nil {
			return kernel{home}, nil
		}
	}
	others, _ := filepath.Glob(filepath.Join(cache, "linux-image-*"))
	if len(others) > 0 {
		return kernel{others[len(others)-1]}, nil
	}
	return kernel{}, err
}

// debianPackage is a package in one version.
type debianPackage struct{ pack, version string }

// kernelPackage asks apt, which answers from the lists it has, without the network.
func kernelPackage() (debianPackage, error) {
	said, err := exec.Command("apt-cache", "show", "--no-all-versions", metapackage).Output()
	if err != nil {
		return debianPackage{}, fmt.Errorf("ask apt-cache for %s: %w", metapackage, err)
	}
	for line := range strings.Lines(string(said)) {
		needs, found := strings.CutPrefix(line, "Depends: ")
		if !found {
			continue
		}
		for need := range strings.SplitSeq(needs, ",") {
			pack, version, _ := strings.Cut(strings.TrimSpace(need), " ")
			version = strings.Trim(version, "(=) ")
			if strings.HasPrefix(pack, "linux-image-") && version != "" {
				return debianPackage{pack, version}, nil
			}
		}
	}
	return debianPackage{}, fmt.Errorf("ask apt-cache for %s: it names no kernel", metapackage)
}

// fetchKernel creates home, in a folder of its own that is then renamed, so that
// home is there as a whole or not at all, however many processes fetch at a time.
func fetchKernel(name debianPackage, home string) error {
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(home), "fetching-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	if err := download(ctx, name, scratch); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(scratch, "*.deb"))
	if err != nil || len(archives) != 1 {
		return errors.Join(err, fmt.Errorf("fetch %s: apt-get left %d packages", name.pack, len(archives)))
	}
	unpacked := filepath.Join(scratch, "kernel")
	if err := unpack(ctx, archives[0], unpacked); err != nil {
		return err
	}
	if err := os.Rename(unpacked, home); err != nil {
		if _, missing := os.Stat(home); missing == nil {
			return nil // another process was faster
		}
		return err
	}
	return nil
}

// download fetches the package, and tries again with new lists when the ones
// that apt has are too old for what the archive has.
func download(ctx context.Context, name debianPackage, folder string) error {
	get := func() error {
		command := exec.CommandContext(ctx, "apt-get", "-qq", "download", name.pack+"="+name.version)
		command.Dir = folder
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command, errors.Join(err, ctx.Err()), said)
		}
		return nil
	}
	err := get()
	if err == nil {
		return nil
	}
	if updateLists(ctx) != nil {
		return err
	}
	return get()
}

// updateLists has apt learn what the archive has now, which takes root.
func updateLists(ctx context.Context) error {
	return exec.CommandContext(ctx, "apt-get", "-qq", "update").Run()
}

// unpack takes from a package the kernel, and the modules that a network of
// virtual devices can need. All of them would be 350 MB.
func unpack(ctx context.Context, archive, home string) error {
	if err := os.MkdirAll(filepath.Join(home, "modules"), 0o755); err != nil {
		return err
	}
	var complaints bytes.Buffer
	command := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", archive)
	command.Stderr = &complaints
	stream, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	err = unpackFrom(tar.NewReader(stream), home)
	if err != nil {
		_ = command.Process.Kill()
	}
	if ended := command.Wait(); ended != nil || err != nil {
		return fmt.Errorf("unpack %s: %w: %s", filepath.Base(archive), errors.Join(err, ended), complaints.String())
	}
	return nil
}

func unpackFrom(files *tar.Reader, home string) error {
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := keep(header.Name)
		if name == "" || header.Typeflag != tar.TypeReg {
			continue
		}
		file, err := os.OpenFile(filepath.Join(home, name), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, files)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
}

// keep returns where in the folder a file of the package goes, and an empty
// string for one that is not needed.
func keep(name string) string {
	name = strings.TrimPrefix(name, "./")
	if strings.HasPrefix(name, "boot/vmlinuz-") {
		return "vmlinuz"
	}
	if path.Base(name) == "modules.builtin" {
		return "builtin"
	}
	_, within, found := strings.Cut(name, "/kernel/")
	if !found || path.Ext(within) != ".ko" {
		return ""
	}
	for _, not := range []string{"drivers/net/ethernet/", "drivers/net/usb/", "net/bluetooth/"} {
		if strings.HasPrefix(within, not) {
			return ""
		}
	}
	if strings.HasPrefix(within, "drivers/net/wireless/") && path.Base(within) != "mac80211_hwsim.ko" {
		return ""
	}
	for _, folder := range []string{"arch/x86/crypto/", "crypto/", "drivers/char/", "drivers/net/",
		"drivers/virtio/", "lib/", "net/"} {
		if strings.HasPrefix(within, folder) {
			return path.Join("modules", moduleName(path.Base(within))+".ko")
		}
	}
	return ""
}

// moduleName returns how the kernel calls a module.
func moduleName(file string) string {
	return strings.ReplaceAll(strings.TrimSuffix(file, ".ko"), "-", "_")
}
