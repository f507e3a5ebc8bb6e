package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// largest is the limit for the plugin's size in bytes, on all platforms.
const largest = 52_000_000

// checkBinary requires a program to be for its platform, to need no library that a system may lack,
// to be small, to contain its version and commit, and to reveal no paths of the build.
func checkBinary(root string, data []byte, p Platform, stamp Stamp) error {
	var wrong []error
	switch p.OS {
	case "linux":
		wrong = append(wrong, checkELF(data, p.Arch))
	case "darwin":
		wrong = append(wrong, checkMachO(data, p.Arch))
	case "windows":
		wrong = append(wrong, checkPE(data, p.Arch))
	default:
		wrong = append(wrong, errors.New("not inspected on this system"))
	}
	if len(data) > largest {
		wrong = append(wrong, fmt.Errorf("the program has %d bytes, more than %d: docs/design/releases.md, What is linked", len(data), largest))
	}
	for _, message := range []string{stamp.Version, stamp.Commit} {
		if !bytes.Contains(data, []byte(message)) {
			wrong = append(wrong, fmt.Errorf("the program does not contain %q", message))
		}
	}
	for _, place := range append(places(), root) {
		if bytes.Contains(data, []byte(place)) {
			wrong = append(wrong, fmt.Errorf("the program reveals where it was built: %s", place))
		}
	}
	return errors.Join(append(wrong, checkSettings(data, p))...)
}

// places returns this machine's folders that the compiler saw, except those with generic names.
func places() []string {
	var found []string
	for _, name := range []string{"GOMODCACHE", "GOPATH", "GOCACHE", "TMPDIR", "HOME"} {
		if place := os.Getenv(name); strings.Count(place, "/") > 1 {
			found = append(found, place)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		found = append(found, home+"/go/")
	}
	return found
}

func checkSettings(data []byte, p Platform) error {
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	want := map[string]string{"-trimpath": "true", "CGO_ENABLED": "0", "GOOS": p.OS, "GOARCH": p.Arch}
	for _, s := range info.Settings {
		if value, ok := want[s.Key]; ok && value == s.Value {
			delete(want, s.Key)
		}
		if strings.HasPrefix(s.Key, "vcs") {
			return fmt.Errorf("the program has %s=%s in addition to its stamp", s.Key, s.Value)
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("the program was not built with %v", want)
	}
	return nil
}

func checkELF(data []byte, arch string) error {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return err
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if f.Machine != machines[arch] {
		return fmt.Errorf("ELF for %s", f.Machine)
	}
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			return fmt.Errorf("the program is linked dynamically: %s", part.Type)
		}
	}
	return nil
}

// macOS has no stable interface below these libraries, and for arm64 starts only signed programs.
// The linker adds an ad-hoc signature.
func checkMachO(data []byte, arch string) error {
	f, err := macho.NewFile(bytes.NewReader(data))
	if err != nil {
		return err
	}
	machines := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}
	if f.Cpu != machines[arch] || f.Type != macho.TypeExec {
		return fmt.Errorf("Mach-O %s for %s", f.Type, f.Cpu)
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, library := range libraries {
		if !strings.HasPrefix(library, "/usr/lib/lib") && !strings.HasPrefix(library, "/System/Library/Frameworks/") {
			return fmt.Errorf("the program needs %s", library)
		}
	}
	const codeSignature = 0x1d
	signed := slices.ContainsFunc(f.Loads, func(l macho.Load) bool {
		raw := l.Raw()
		return len(raw) >= 4 && f.ByteOrder.Uint32(raw) == codeSignature
	})
	if arch == "arm64" && !signed {
		return errors.New("the program is not signed")
	}
	return nil
}

func checkPE(data []byte, arch string) error {
	f, err := pe.NewFile(bytes.NewReader(data))
	if err != nil {
		return err
	}
	machines := map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64}
	if f.Machine != machines[arch] {
		return fmt.Errorf("PE for machine %#x", f.Machine)
	}
	if f.TimeDateStamp != 0 {
		return fmt.Errorf("the program reveals the time of its build: %d", f.TimeDateStamp)
	}
	const console = 3
	header, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok || header.Subsystem != console {
		return errors.New("the program is not for a console")
	}
	_, err = io.Copy(io.Discard, f.Sections[0].Open())
	return err
}
