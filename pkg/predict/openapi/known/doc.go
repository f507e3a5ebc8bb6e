// Package known has what a run knows of kinds before it reads their schemas.
package known
