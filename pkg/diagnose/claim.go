package diagnose

import corev1 "k8s.io/api/core/v1"

// ExclusiveMode returns the access mode of a claim if it is for one node or one Pod, and ""
// otherwise.
func ExclusiveMode(claim *corev1.PersistentVolumeClaim) corev1.PersistentVolumeAccessMode {
	for _, mode := range claim.Spec.AccessModes {
		if mode != corev1.ReadWriteOnce && mode != corev1.ReadWriteOncePod {
			return ""
		}
	}
	if len(claim.Spec.AccessModes) == 0 {
		return ""
	}
	return claim.Spec.AccessModes[0]
}
