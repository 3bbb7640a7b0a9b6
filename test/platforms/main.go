// Command platforms checks the types of the module in the working folder for
// platforms that this machine is not, from the sources down to the standard library:
//
//	platforms linux/386 windows/amd64
//
// That finds what a compiler for these platforms would find, a missing symbol or a
// constant that no int of 32 bits holds, in a tenth of the time, since no code is
// made. Tests are checked where the system is Linux, on which they run. It is a module
// of its own, so that the loader is not a dependency of the project.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) == 1 {
		fmt.Fprintln(os.Stderr, "platforms: name at least one platform, such as linux/386")
		os.Exit(2)
	}
	faults := 0
	for _, platform := range os.Args[1:] {
		found, err := check(platform)
		if err != nil {
			fmt.Fprintf(os.Stderr, "platforms: %s: %v\n", platform, err)
			os.Exit(1)
		}
		faults += found
	}
	if faults > 0 {
		os.Exit(1)
	}
}

// check prints the faults of all packages on the platform, and returns their number.
func check(platform string) (int, error) {
	system, architecture, ok := strings.Cut(platform, "/")
	if !ok {
		return 0, fmt.Errorf("no platform; one is written SYSTEM/ARCHITECTURE")
	}
	found, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesSizes,
		Tests: system == "linux",
		Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture),
	}, "./...")
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, fmt.Errorf("no packages in the working folder")
	}
	faults := packages.PrintErrors(found)
	fmt.Printf("%-15s %d packages, %d faults\n", platform, len(found), faults)
	return faults, nil
}
