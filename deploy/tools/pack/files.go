package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/files"

	"github.com/iotenablers/enablers/deploy/tools/catalog"
)

// debian writes the .deb of a command.
func (r *run) debian(command catalog.Command, platform catalog.Platform) error {
	architecture, known := map[string]string{
		"linux/amd64": "amd64", "linux/arm64": "arm64", "linux/arm/v7": "armhf", "linux/riscv64": "riscv64",
	}[platform.String()]
	if !known {
		return fmt.Errorf("Debian has no architecture for it that is built here")
	}
	info := &nfpm.Info{Name: command.Name, Arch: architecture, Section: "net", Priority: "optional",
		Description: command.Summary + "\n" + wrapped(command.About)}
	info.Deb.Arch, info.Deb.Compression = architecture, "gzip"
	info.Recommends = []string{"ca-certificates"}
	documents := "/usr/share/doc/" + command.Name
	changes, err := r.changes(command)
	if err != nil {
		return err
	}
	copyright, err := r.copyright(command)
	if err != nil {
		return err
	}
	info.Contents = files.Contents{
		file(filepath.Join(r.binaries, platform.Folder(), command.Name), "/usr/bin/"+command.Name, 0o755),
		file(copyright, documents+"/copyright", 0o644),
		file(changes, documents+"/changelog.gz", 0o644),
	}
	if command.Service {
		if err := r.service(command, info); err != nil {
			return err
		}
	}
	return r.write("deb", info)
}

// service adds the unit, its environment and the scripts of a server.
func (r *run) service(command catalog.Command, info *nfpm.Info) error {
	text, err := os.ReadFile(filepath.Join(r.sources, "deploy", command.Name+".service"))
	if err != nil {
		return err
	}
	// What stands before the first section is how to install it without a package.
	_, unit, found := strings.Cut(string(text), "[Unit]\n")
	local, packaged := "ExecStart=/usr/local/bin/"+command.Name+"\n", "ExecStart=/usr/bin/"+command.Name+"\n"
	if !found || strings.Count(unit, local) != 1 {
		return fmt.Errorf("deploy/%s.service: expected a section [Unit] and one line %q", command.Name, strings.TrimSpace(local))
	}
	unitFile, err := r.keep(command.Name+".service", "[Unit]\n"+strings.Replace(unit, local, packaged, 1))
	if err != nil {
		return err
	}
	environment, err := r.keep(command.Name+".environment", fmt.Sprintf(
		"# Settings of %[1]s.service, one NAME=value a line; %[1]s -h lists the names.\n"+
			"# After a change: systemctl restart %[1]s\n", command.Name))
	if err != nil {
		return err
	}
	settings := file(environment, "/etc/"+command.Name+"/environment", 0o600)
	settings.Type = files.TypeConfigNoReplace
	folder := &files.Content{Destination: "/etc/" + command.Name, Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755}}
	info.Contents = append(info.Contents, folder, settings, file(unitFile, "/usr/lib/systemd/system/"+command.Name+".service", 0o644))
	// A role has to be said for multi-link, and enablers takes the ports of all others.
	start := "yes"
	if command.Name == "multilink" || command.Name == "enablers" {
		start = "no"
	}
	scripts := map[string]*string{
		"postinst": &info.Scripts.PostInstall, "prerm": &info.Scripts.PreRemove, "postrm": &info.Scripts.PostRemove,
	}
	for name, to := range scripts {
		text, err := os.ReadFile(filepath.Join(r.sources, "deploy/packages/debian", name))
		if err != nil {
			return err
		}
		filled := strings.NewReplacer("@NAME@", command.Name, "@START@", start).Replace(string(text))
		if *to, err = r.keep(command.Name+"."+name, filled); err != nil {
			return err
		}
	}
	return nil
}

// openWrt writes the .ipk files of multi-link: one for each of OpenWrt's architectures that
// the platform's binary runs on.
func (r *run) openWrt(command catalog.Command, platform catalog.Platform) error {
	sources := filepath.Join(r.sources, "deploy/packages/openwrt")
	for _, architecture := range map[string][]string{
		"linux/amd64":   {"x86_64"},
		"linux/arm64":   {"aarch64_generic", "aarch64_cortex-a53", "aarch64_cortex-a72"},
		"linux/arm/v7":  {"arm_cortex-a7_neon-vfpv4", "arm_cortex-a9_vfpv3-d16", "arm_cortex-a15_neon-vfpv4"},
		"linux/riscv64": {"riscv64_riscv64"},
	}[platform.String()] {
		info := &nfpm.Info{Name: command.Name, Arch: architecture, Section: "net", Priority: "optional",
			Description: command.Summary + "\n" + wrapped(command.About)}
		info.IPK.Arch = architecture
		info.Depends = []string{"kmod-tun", "ca-bundle"}
		settings := file(filepath.Join(sources, "files/multilink.config"), "/etc/config/multilink", 0o600)
		settings.Type = files.TypeConfigNoReplace
		info.Contents = files.Contents{
			file(filepath.Join(r.binaries, platform.Folder(), command.Name), "/usr/bin/"+command.Name, 0o755),
			file(filepath.Join(sources, "files/multilink.init"), "/etc/init.d/multilink", 0o755),
			file(filepath.Join(sources, "files/multilink.keep"), "/lib/upgrade/keep.d/multilink", 0o644),
			settings,
		}
		info.Scripts.PostInstall, info.Scripts.PreRemove = filepath.Join(sources, "postinst"), filepath.Join(sources, "prerm")
		if err := r.write("ipk", info); err != nil {
			return err
		}
	}
	return nil
}

func file(source, destination string, mode os.FileMode) *files.Content {
	return &files.Content{Source: source, Destination: destination, FileInfo: &files.ContentFileInfo{Mode: mode}}
}

// keep writes a file for the packages, and returns its name.
func (r *run) keep(name, text string) (string, error) {
	name = filepath.Join(r.scratch, name)
	return name, os.WriteFile(name, []byte(text), 0o600)
}

// changes is a changelog in Debian's form, which names the project's.
func (r *run) changes(command catalog.Command) (string, error) {
	text := fmt.Sprintf("%s (%s) unstable; urgency=medium\n\n  * Built from version %s of the project: see\n"+
		"    %s/blob/main/CHANGELOG.md\n\n -- %s  %s\n",
		command.Name, r.packageVersion(), r.version, catalog.Source, catalog.Maintainer, r.created.Format(time.RFC1123Z))
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return r.keep(command.Name+".changelog.gz", packed.String())
}

// copyright is Debian's machine-readable form.
func (r *run) copyright(command catalog.Command) (string, error) {
	return r.keep(command.Name+".copyright", fmt.Sprintf(`Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: %s
Source: %s

Files: *
Copyright: %d %s
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
`, command.Name, catalog.Source, r.created.Year(), catalog.Vendor))
}

// wrapped has lines that fit a terminal.
func wrapped(text string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > 76 {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n")
}
