#compdef kubectl-k8sconnect

# Completion of kubectl-k8sconnect and, if this is sourced, of "kubectl k8sconnect".

_kubectl-k8sconnect() {
    local -a args out values displays options
    local word last line flag='' directive tab=$'\t'
    for word in "${(@)words[2,CURRENT-1]}"; do
        case $word in
        *'$('* | *'`'*) ;;
        '~/'*) word=$HOME/${word#'~/'} ;;
        *'$'*) word=${(e)word} ;;
        esac
        args+=("${(Q)word}")
    done
    last=${(Q)PREFIX}
    if [[ -n ${compstate[quote]} && $PREFIX != *${compstate[quote]}* ]]; then
        last=$PREFIX # The quote that the word begins with is not in PREFIX.
    fi
    out=("${(@f)$(kubectl-k8sconnect __complete "${args[@]}" "$last" 2>/dev/null </dev/null)}") # No prompt for a password.
    directive=${out[-1]#:}
    out[-1]=()
    [[ $directive == <-> ]] || return 1
    (( directive & 1 )) && return 1
    if [[ $last == -*=* ]]; then
        flag=${last%%=*}=
        compset -P 1 '*='
    fi
    out=("${(@)out:#_activeHelp_*}")
    out=("${(@)out:#}")
    if (( directive & 8 )); then
        _files -g "*.(${(j:|:)out})"
        return
    elif (( directive & 16 )); then
        _files -/
        return
    elif (( ! ${#out} )); then
        (( directive & 4 )) || _files
        return
    fi
    for line in "${out[@]}"; do
        values+=("${line%%$tab*}")
        if [[ $line == *$tab* ]]; then
            displays+=("${line%%$tab*}  (${line#*$tab})")
        else
            displays+=("$line")
        fi
    done
    options=(-d displays)
    (( directive & 2 )) && options+=(-S '')
    if (( directive & 32 )); then options+=(-V k8sconnect); else options+=(-J k8sconnect); fi
    compadd "${options[@]}" -a values
}

_kubectl_k8sconnect() {
    if (( CURRENT > 2 )) && [[ ${words[2]} == k8sconnect ]]; then
        shift words
        (( CURRENT-- ))
        _kubectl-k8sconnect
    elif (( $+functions[_kubectl] )); then
        _kubectl "$@"
    else
        _default
    fi
}

if [[ ${funcstack[1]} == _kubectl-k8sconnect ]]; then
    _kubectl-k8sconnect "$@"
else
    compdef _kubectl-k8sconnect kubectl-k8sconnect
    compdef _kubectl_k8sconnect kubectl
fi
