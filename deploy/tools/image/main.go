// Command image packs binaries of the project into OCI archives, and writes the software bill
// of materials and the provenance of each beside it.
//
//	image -binaries DIR -out DIR -version V [-revision COMMIT] [-repository R] -epoch SECONDS [-commands NAMES] PLATFORM...
//
// DIR/linux_amd64/annotator is a binary. Of each command it writes NAME.tar, NAME.cdx.json and
// NAME.provenance.json. The same arguments, binaries and Go toolchain give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/deploy/tools/catalog"
)

// build is what all images of a run have in common.
type build struct {
	binaries, out     string
	version, revision string
	repository        string
	builder           string
	created           time.Time
	platforms         []catalog.Platform
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var b build
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&b.binaries, "binaries", "", "`folder` with a folder of binaries for each platform")
	flags.StringVar(&b.out, "out", "", "`folder` for the archives; it has to exist")
	flags.StringVar(&b.version, "version", "", "`version` of the binaries")
	flags.StringVar(&b.revision, "revision", "", "`commit` that they were built from, if it is known")
	flags.StringVar(&b.repository, "repository", "iotenablers", "what stands before /NAME:VERSION in the `name` of an image")
	flags.StringVar(&b.builder, "builder", catalog.Source+"/blob/main/deploy/images/build.sh", "`URI` of what runs the build")
	epoch := flags.Int64("epoch", 0, "`seconds` since 1970 of everything in the images")
	commands := flags.String("commands", "", "`names` of commands with commas between; empty means all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b.created = time.Unix(*epoch, 0).UTC()
	if b.binaries == "" || b.out == "" || b.version == "" {
		return errors.New("-binaries, -out and -version are required")
	}
	var err error
	if b.platforms, err = catalog.ParsePlatforms(flags.Args()); err != nil {
		return err
	}
	chosen, err := catalog.Select(strings.FieldsFunc(*commands, func(r rune) bool { return r == ',' }))
	if err != nil {
		return err
	}
	for _, command := range chosen {
		if err := b.write(command); err != nil {
			return fmt.Errorf("image of %s: %w", command.Name, err)
		}
	}
	return nil
}

// write writes the three files of a command.
func (b *build) write(command catalog.Command) error {
	index, err := b.index(command)
	if err != nil {
		return err
	}
	archive := filepath.Join(b.out, command.Name+".tar")
	if err := writeArchive(archive, index, b.repository+"/"+command.Name+":"+tag(b.version), b.created); err != nil {
		return err
	}
	modules, err := b.modules(command)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := b.writeBill(command, modules, digest); err != nil {
		return err
	}
	if err := b.writeProvenance(command, modules, digest, archive); err != nil {
		return err
	}
	fmt.Printf("%s.tar %s\n", command.Name, digest)
	return nil
}

// binary is the file of a command for a platform.
func (b *build) binary(command catalog.Command, platform catalog.Platform) string {
	return filepath.Join(b.binaries, platform.Folder(), command.Name)
}

// tag is a version as a tag of an image: v1.2.3 is 1.2.3, as usual there, and no tag has a plus sign.
func tag(version string) string {
	return strings.ReplaceAll(strings.TrimPrefix(version, "v"), "+", "-")
}
