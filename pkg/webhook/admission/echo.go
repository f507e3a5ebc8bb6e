package admission

import admissionv1 "k8s.io/api/admission/v1"

// ReachAnnotation is set by a write that tests whether the API server's calls come back;
// the answer repeats it.
const ReachAnnotation = "k8sconnect.io/reach"

// echo answers such test writes with a warning that repeats their annotation.
func echo(r *request) (findings, error) {
	if r.Operation != admissionv1.Update || !r.DryRun {
		return findings{}, nil
	}
	o, err := r.Object.read()
	if err != nil || o == nil {
		return findings{}, err
	}
	text := o.GetAnnotations()[ReachAnnotation]
	if text == "" {
		return findings{}, nil
	}
	return findings{warnings: []warning{{aboutReach, ReachAnnotation + " " + text}}}, nil
}
