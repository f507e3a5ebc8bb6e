// Command kubectlserver runs kubectl commands for kubectlclient, with kubectl's own code. It
// declines commands that need a process of their own: plugins, editors, watches.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/kubectl/pkg/cmd/annotate"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/create"
	"k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/label"
	"k8s.io/kubectl/pkg/cmd/patch"
	"k8s.io/kubectl/pkg/cmd/replace"
	"k8s.io/kubectl/pkg/cmd/scale"
	"k8s.io/kubectl/pkg/cmd/set"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/wait"
)

// declined is the response to a command that kubectl itself has to run.
const declined = 255

func main() {
	if err := listen(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func listen(socket string) error {
	os.Args[0] = "kubectl" // The user agent says so, and the server takes it for a field manager.
	cmdutil.BehaviorOnFatal(func(message string, status int) { panic(fatal{message, status}) })
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	known := &clusters{discovery: map[string]discovery.CachedDiscoveryInterface{}}
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return err
		}
		go known.serve(conn)
	}
}

// fatal is the panic of a command that fails.
type fatal struct {
	message string
	status  int
}

// clusters caches discovery for each cluster and user.
type clusters struct {
	mu        sync.Mutex
	discovery map[string]discovery.CachedDiscoveryInterface
}

func (c *clusters) serve(conn *net.UnixConn) {
	// The thread has its own working folder, and ends with this goroutine.
	runtime.LockOSThread()
	defer func() { _ = conn.Close() }()
	words, files, err := receive(conn)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	status := declined
	if err := enter(words[0]); err == nil {
		status = c.run(words[1], words[2:], files)
	}
	_, _ = conn.Write([]byte{byte(status)})
}

func enter(dir string) error {
	if err := syscall.Unshare(syscall.CLONE_FS); err != nil {
		return err
	}
	return syscall.Chdir(dir)
}

// receive reads a request: the arguments and the client's standard streams.
func receive(conn *net.UnixConn) (words []string, files []*os.File, err error) {
	first, rights := make([]byte, 64<<10), make([]byte, syscall.CmsgSpace(3*4))
	n, control, _, _, err := conn.ReadMsgUnix(first, rights)
	if err != nil {
		return nil, nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:control])
	if err != nil {
		return nil, nil, err
	}
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return nil, files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), strconv.Itoa(fd)))
		}
	}
	more, err := io.ReadAll(conn)
	words = strings.Split(string(slices.Concat(first[:n], more)), "\x00")
	if err == nil && (len(words) < 2 || len(files) != 3) {
		err = fmt.Errorf("a request of %d words and %d files", len(words), len(files))
	}
	return words, files, err
}

// run runs a command and returns its exit status.
func (c *clusters) run(kubeconfig string, args []string, files []*os.File) (status int) {
	named := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--kubeconfig") })
	watches := slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, "-w") || strings.HasPrefix(arg, "--watch") || arg == "edit-last-applied"
	})
	if watches || !named && (kubeconfig == "" || strings.Contains(kubeconfig, ":")) {
		return declined
	}
	began := false
	defer func() {
		end, ok := recover().(fatal)
		if !ok {
			return
		}
		status = end.status
		if end.message != "" {
			fmt.Fprintln(files[2], strings.TrimSuffix(end.message, "\n"))
		}
	}()
	root := c.command(kubeconfig, genericiooptions.IOStreams{In: files[0], Out: files[1], ErrOut: files[2]})
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	if verb, _, err := root.Find(args); err != nil || verb == root {
		return declined
	}
	root.SetArgs(fromStdin(args, files[0]))
	switch err := root.Execute(); {
	case err == nil && began:
		return 0
	case !began: // A flag that is not served, a slip, or a question for help.
		return declined
	default:
		fmt.Fprintln(files[2], "error:", err)
		return 1
	}
}

// fromStdin replaces "-" by the client's standard input.
func fromStdin(args []string, in *os.File) []string {
	path := "/dev/fd/" + in.Name()
	out := slices.Clone(args)
	for i, arg := range args {
		switch {
		case arg == "-" && i > 0 && (args[i-1] == "-f" || args[i-1] == "--filename"):
			out[i] = path
		case arg == "-f-" || arg == "--filename=-":
			out[i] = "--filename=" + path
		}
	}
	return out
}

// command returns kubectl's root command for a client.
func (c *clusters) command(kubeconfig string, streams genericiooptions.IOStreams) *cobra.Command {
	var said bytes.Buffer // kubectl prints these itself
	root := &cobra.Command{Use: "kubectl", SilenceErrors: true, SilenceUsage: true}
	root.SetOut(&said)
	root.SetErr(&said)
	warnings := rest.NewWarningWriter(streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	flags := genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.WarningHandler = warnings
		return config
	})
	if kubeconfig != "" {
		flags.KubeConfig = &kubeconfig
	}
	flags.AddFlags(root.PersistentFlags())
	f := cmdutil.NewFactory(&getter{ConfigFlags: flags, clusters: c, errOut: streams.ErrOut})
	root.AddCommand(annotate.NewCmdAnnotate("kubectl", f, streams), apply.NewCmdApply("kubectl", f, streams),
		create.NewCmdCreate(f, streams), delete.NewCmdDelete(f, streams), get.NewCmdGet("kubectl", f, streams),
		label.NewCmdLabel(f, streams), patch.NewCmdPatch(f, streams), replace.NewCmdReplace(f, streams),
		scale.NewCmdScale(f, streams), set.NewCmdSet(f, streams), wait.NewCmdWait(f, streams))
	return root
}

// getter caches discovery in memory, for all commands of a user.
type getter struct {
	*genericclioptions.ConfigFlags
	clusters *clusters
	errOut   io.Writer
	once     sync.Once
	client   discovery.CachedDiscoveryInterface
	err      error
}

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	g.once.Do(func() { g.client, g.err = g.clusters.of(g.ConfigFlags) })
	return g.client, g.err
}

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := g.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(client)
	return restmapper.NewShortcutExpander(mapper, client, func(warning string) { fmt.Fprintln(g.errOut, warning) }), nil
}

func (c *clusters) of(flags *genericclioptions.ConfigFlags) (discovery.CachedDiscoveryInterface, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(config.Host, config.CertFile, string(config.CertData), config.BearerToken, config.BearerTokenFile, config.Impersonate)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.discovery[key] == nil {
		shared := rest.CopyConfig(config)
		shared.WarningHandler = rest.NoWarnings{} // A command's own cache ends with it.
		shared.QPS, shared.Burst = 50, 300
		client, err := discovery.NewDiscoveryClientForConfig(shared)
		if err != nil {
			return nil, err
		}
		c.discovery[key] = memory.NewMemCacheClient(client)
	}
	return &perCommand{CachedDiscoveryInterface: c.discovery[key]}, nil
}

// perCommand refreshes discovery once in each command that does not find a kind, as kubectl does.
type perCommand struct {
	discovery.CachedDiscoveryInterface
	asked bool
}

func (p *perCommand) Fresh() bool { return p.asked }

func (p *perCommand) Invalidate() {
	p.asked = true
	p.CachedDiscoveryInterface.Invalidate()
}
