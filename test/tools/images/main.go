// Command images packs static programs into container images, without a container
// engine and without a registry:
//
//	images -binaries DIR -license FILE -layouts DIR -files DIR -version 0.2.0 -revision COMMIT -created RFC3339
//
// For each image it writes an OCI layout as a folder and as one file, with all
// platforms, and for each platform an archive for `docker load`. The same input gives
// the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var r release
	flags := flag.NewFlagSet("images", flag.ExitOnError)
	binaries := flags.String("binaries", "", "folder of linux_amd64/PROGRAM, linux_amd64/PROGRAM.notices and so on")
	var out output
	flags.StringVar(&out.layouts, "layouts", "", "folder to write a folder for each image to; what is there already is removed")
	flags.StringVar(&out.files, "files", "", "folder to write the archives and digests.txt to")
	license := flags.String("license", "", "file of our own license")
	platforms := flags.String("platforms", "linux/amd64 linux/arm64", "platforms, with spaces between them")
	flags.StringVar(&r.registry, "registry", "ghcr.io/k8sconnect", "where the images are to be pushed: the first part of their names")
	flags.StringVar(&r.source, "source", "", "address of the source")
	flags.StringVar(&r.version, "version", "", "version, which is the tag as well")
	flags.StringVar(&r.revision, "revision", "", "commit that the programs were built from; none if it is not known")
	created := flags.String("created", "", "time of all files, in RFC 3339: that of the commit; 1970 if it is not known")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *binaries == "" || out.layouts == "" || out.files == "" || r.version == "" {
		return errors.New("-binaries, -layouts, -files and -version are needed")
	}
	r.created = time.Unix(0, 0).UTC()
	if *created != "" {
		at, err := time.Parse(time.RFC3339, *created)
		if err != nil {
			return fmt.Errorf("-created: %w", err)
		}
		r.created = at.UTC()
	}
	var err error
	if r.license, err = os.ReadFile(*license); err != nil {
		return err
	}
	return r.writeAll(*binaries, out, strings.Fields(*platforms))
}
