package condition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/spelling"
)

const (
	// maxCost bounds one judgement, in the units of CEL, as the API server bounds the
	// rules of a CRD (apiserver/pkg/apis/cel, PerCallLimit; ten times that, for
	// nobody else waits for it).
	maxCost = 10_000_000
	// interruptEach is after how many rounds of a loop the context is asked, and
	// longest how long one judgement may take: loops in loops can cost little and
	// take for ever.
	interruptEach = 100
	longest       = 2 * time.Second
)

// celCompiler compiles the expressions for one kind. The environment is made when
// the first of them is.
type celCompiler struct {
	gvk    schema.GroupVersionKind
	schema *spec.Schema

	env  *celgo.Env
	open *spec.Schema
}

// environment returns Kubernetes' own environment with self typed by the schema.
func (c *celCompiler) environment() (*celgo.Env, error) {
	if c.env != nil {
		return c.env, nil
	}
	options := environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []celgo.EnvOption{celgo.Variable(self, celgo.DynType)},
	}
	if c.schema != nil && !isOpen(c.schema) {
		c.open = dynamic(c.schema)
		if t := openapi.SchemaDeclType(c.open, true); t != nil {
			t = t.MaybeAssignTypeName("Self")
			options.EnvOptions = []celgo.EnvOption{celgo.Variable(self, t.CelType())}
			options.DeclTypes = []*apiservercel.DeclType{t}
		}
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(options)
	if err != nil {
		return nil, fmt.Errorf("types of %s: %w", c.gvk.Kind, err)
	}
	// What Kubernetes accepts in stored expressions is all that it knows.
	// The text of exists() and other macros is known only if it is kept.
	env, err := set.StoredExpressionsEnv().Extend(celgo.EnableMacroCallTracking())
	if err != nil {
		return nil, fmt.Errorf("environment of CEL: %w", err)
	}
	c.env = env
	return c.env, nil
}

func (c *celCompiler) compile(one Spec) (judge, error) {
	env, err := c.environment()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(one.Expression)
	if issues.Err() != nil {
		return nil, compileError(one, issues)
	}
	tree := parsed.NativeRep()
	w := c.walk(tree.Expr())
	if len(w.misspelt) > 0 {
		return nil, c.misspelt(one, tree, w.misspelt[0])
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, compileError(one, issues)
	}
	if t := checked.OutputType(); !t.IsEquivalentType(celgo.BoolType) && !t.IsEquivalentType(celgo.DynType) {
		return nil, &CompileError{Spec: one, Message: fmt.Sprintf("it is %s, and a condition has to be true or false", article(t.String()))}
	}
	bounds := []celgo.ProgramOption{
		celgo.CostTracking(&library.CostEstimator{}), celgo.CostLimit(maxCost), celgo.InterruptCheckFrequency(interruptEach),
	}
	program, err := env.Program(checked, append(bounds, celgo.EvalOptions(celgo.OptTrackCost))...)
	if err != nil {
		return nil, &CompileError{Spec: one, Message: err.Error()}
	}
	tracking, err := env.Program(checked, append(bounds, celgo.EvalOptions(celgo.OptTrackState))...)
	if err != nil {
		return nil, &CompileError{Spec: one, Message: err.Error()}
	}
	tree = checked.NativeRep()
	return &expression{spec: one, open: c.open, program: program, tracking: tracking, tree: tree, walk: c.walk(tree.Expr())}, nil
}

func (c *celCompiler) walk(e ast.Expr) *walk {
	w := &walk{scope: map[string]*place{self: {schema: c.open}}}
	w.see(e)
	return w
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// compileError returns the first of what is wrong; the others mostly follow from
// it.
func compileError(one Spec, issues *celgo.Issues) error {
	all := issues.Errors()
	if len(all) == 0 {
		return &CompileError{Spec: one, Message: issues.Err().Error()}
	}
	return one.wrong(all[0].Location.Line(), all[0].Location.Column()+1, strings.Join(strings.Fields(all[0].Message), " "), "")
}

// wrong returns an error at a place in the expression, both from 1.
func (s Spec) wrong(line, column int, message, meant string) error {
	if line == 1 {
		column += max(0, strings.Index(s.Text, s.Expression))
	}
	return &CompileError{Spec: s, Line: line, Column: column, Message: message, Meant: meant}
}

// misspelt says what a field is not, and what it may be.
func (c *celCompiler) misspelt(one Spec, tree *ast.AST, m misspelt) error {
	at := tree.SourceInfo().GetStartLocation(m.id)
	parent := text(m.parent, tree)
	meant := spelling.Nearest(m.field, fieldNames(m.schema))
	if meant == "" {
		for _, name := range fieldNames(m.schema) { // One level deeper, such as status.
			within, _ := fieldOf(m.schema, name)
			if _, ok := fieldOf(within, m.field); ok && name != "metadata" {
				meant = name + "." + m.field
			}
		}
	}
	if meant != "" {
		meant = parent + "." + meant
	}
	return one.wrong(at.Line(), at.Column()+1, fmt.Sprintf("%s has no field %s in %s", parent, m.field, c.gvk.Kind), meant)
}

// text returns a part of an expression as it is written.
func text(e ast.Expr, tree *ast.AST) string {
	s, err := celgo.ExprToString(e, tree.SourceInfo())
	if err != nil {
		return "it"
	}
	return strings.Join(strings.Fields(s), " ")
}

// expression judges CEL.
type expression struct {
	spec Spec
	open *spec.Schema
	// program judges; tracking does the same again where it has to be explained.
	program, tracking celgo.Program
	tree              *ast.AST
	walk              *walk
}

func (x *expression) reads() reads {
	var out reads
	for _, r := range x.walk.reads {
		names := r.at.names()
		if len(names) == 0 && !r.within {
			return reads{all: true}
		}
		if len(names) > 0 {
			out.paths = append(out.paths, names)
		}
	}
	return out
}

func (x *expression) judge(ctx context.Context, obj map[string]any, _ time.Time) Verdict {
	ctx, done := context.WithTimeoutCause(ctx, longest, errTooLong)
	defer done()
	input := map[string]any{self: typed(obj, x.open)}
	result, _, err := x.program.ContextEval(ctx, input)
	if met, ok := result.(types.Bool); ok && err == nil && bool(met) {
		return Verdict{Met: true, Reason: "True", Values: x.values(obj, nil, x.tree.Expr())}
	} else if ok && err == nil {
		_, details, _ := x.tracking.ContextEval(ctx, input) // As before, and what it saw.
		return x.unmet(obj, details)
	}
	if err == nil {
		err = fmt.Errorf("it is %s, and neither true nor false", article(typeName(result)))
	}
	if absent := x.absent(obj); absent != "" && ctx.Err() == nil {
		return Verdict{Reason: "Absent", Message: "there is no " + absent, Values: x.values(obj, nil, x.tree.Expr())}
	}
	err = cmp.Or(context.Cause(ctx), x.shown(obj, err))
	return Verdict{Reason: "NotJudged", Message: err.Error(), Err: err, Values: x.values(obj, nil, x.tree.Expr())}
}

// shown is why an expression could not be judged. What a function says of a value
// that was made of a Secret's can not be told from the value, and is left out.
func (x *expression) shown(obj map[string]any, err error) error {
	if redact.IsSecret(refOf(obj)) && err.Error() != types.NoSuchOverloadErr().(*types.Err).Error() {
		return errOfSecret
	}
	return redact.Error(&unstructured.Unstructured{Object: obj}, err)
}

var errOfSecret = errors.New("it can not be evaluated; the reason is not shown, for it may have values of the Secret in it")

var errTooLong = fmt.Errorf("the expression takes longer than %s", longest)

func typeName(v ref.Val) string {
	if v == nil {
		return "nothing"
	}
	return v.Type().TypeName()
}

func refOf(obj map[string]any) object.Ref {
	return object.RefOf(&unstructured.Unstructured{Object: obj})
}
