// Command pack packs binaries into packages of Debian, and multi-link into packages of OpenWrt.
//
//	pack -binaries DIR -sources DIR -out DIR -version V -epoch SECONDS [-commands NAMES] PLATFORM...
//
// DIR/linux_arm_v7/annotator is a binary; the folder of sources is the project's. The same
// arguments and binaries give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/ipk"

	"github.com/iotenablers/enablers/deploy/tools/catalog"
)

// run is what all packages of a run have in common.
type run struct {
	binaries, sources, out string
	version                string
	created                time.Time
	scratch                string
}

func main() {
	if err := pack(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(args []string) (err error) {
	var r run
	flags := flag.NewFlagSet("pack", flag.ContinueOnError)
	flags.StringVar(&r.binaries, "binaries", "", "`folder` with a folder of binaries for each platform")
	flags.StringVar(&r.sources, "sources", "", "`folder` of the project")
	flags.StringVar(&r.out, "out", "", "`folder` for the packages; it has to exist")
	flags.StringVar(&r.version, "version", "", "`version` of the binaries")
	epoch := flags.Int64("epoch", 0, "`seconds` since 1970 of everything in the packages")
	commands := flags.String("commands", "", "`names` of commands with commas between; empty means all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.created = time.Unix(*epoch, 0).UTC()
	if r.binaries == "" || r.sources == "" || r.out == "" || r.version == "" {
		return errors.New("-binaries, -sources, -out and -version are required")
	}
	platforms, err := catalog.ParsePlatforms(flags.Args())
	if err != nil {
		return err
	}
	chosen, err := catalog.Select(strings.FieldsFunc(*commands, func(c rune) bool { return c == ',' }))
	if err != nil {
		return err
	}
	if r.scratch, err = os.MkdirTemp("", "pack-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	for _, platform := range platforms {
		for _, command := range chosen {
			if err := r.debian(command, platform); err != nil {
				return fmt.Errorf("Debian package of %s for %s: %w", command.Name, platform, err)
			}
			if command.Name != "multilink" {
				continue
			}
			if err := r.openWrt(command, platform); err != nil {
				return fmt.Errorf("OpenWrt package of %s for %s: %w", command.Name, platform, err)
			}
		}
	}
	return nil
}

// packageVersion is a version in the order of dpkg and opkg: a release, a release candidate
// before its release, and what is neither before all releases.
func (r *run) packageVersion() string {
	number := strings.TrimPrefix(r.version, "v")
	if release := regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-([0-9A-Za-z.-]+))?$`).FindStringSubmatch(number); release != nil {
		if release[2] == "" {
			return release[1]
		}
		return release[1] + "~" + strings.ReplaceAll(release[2], "-", ".")
	}
	return "0~" + r.created.Format("20060102150405") + "." + strings.ReplaceAll(r.version, "-", ".")
}

// write writes a package in a format of nfpm. The file gets its name when it is complete.
func (r *run) write(format string, info *nfpm.Info) error {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info.Version, info.VersionSchema, info.MTime = r.packageVersion(), "none", r.created
	info.Platform, info.Homepage, info.License, info.Vendor = "linux", catalog.Source, catalog.Licence, catalog.Vendor
	info.Maintainer, info.DisableGlobbing = catalog.Maintainer, true
	for _, content := range info.Contents {
		content.FileInfo.Owner, content.FileInfo.Group, content.FileInfo.MTime = "root", "root", r.created
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	// Places that store the files of a release take no tilde in a name. The version inside keeps it.
	name := strings.ReplaceAll(packager.ConventionalFileName(info), "~", ".")
	out, err := os.CreateTemp(r.out, ".package-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // it is there only after an error
	err = errors.Join(packager.Package(info, out), out.Chmod(0o644), out.Close())
	if err != nil {
		return err
	}
	fmt.Println(name)
	return os.Rename(out.Name(), filepath.Join(r.out, name))
}
