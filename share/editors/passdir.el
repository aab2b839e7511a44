;;; passdir.el --- Keep what Emacs remembers of secrets off the disk  -*- lexical-binding: t -*-

;;; Commentary:

;; For files under passdir's mount: no backup, no auto-save, no lock file, no place in lists of recent files, and
;; nothing that was killed or searched for in savehist.  In ~/.emacs.d/init.el:
;;
;;     (load "/usr/local/share/passdir/editors/passdir.el")
;;
;; The mounts are in `passdir-mounts'.

;;; Code:

(defgroup passdir nil "Password stores that passdir has mounted." :group 'files)

(defcustom passdir-mounts (list (or (getenv "PASSDIR_MOUNT") "~/passdir"))
  "Folders where passdir mounts password stores."
  :type '(repeat directory))

(defun passdir-secret-p (name)
  "Whether the file NAME lies under a mount of passdir."
  (and name
       (let ((file (file-truename (expand-file-name name))))
         (seq-some (lambda (mount)
                     (string-prefix-p (file-name-as-directory (file-truename (expand-file-name mount))) file))
                   passdir-mounts))))

(defun passdir-protect ()
  "Keep the secret of this buffer off the disk."
  (when (passdir-secret-p buffer-file-name)
    (setq-local backup-inhibited t)
    (setq-local make-backup-files nil)
    (setq-local create-lockfiles nil)
    (setq-local auto-save-default nil)
    (when buffer-auto-save-file-name (auto-save-mode -1))
    ;; Packages that write the undo history or every save to a disk.
    (setq-local undo-tree-auto-save-history nil)
    (setq-local backup-each-save-mode nil)
    ;; What was killed and searched for may be a secret's.
    (when (boundp 'savehist-additional-variables)
      (setq savehist-additional-variables
            (seq-remove (lambda (variable)
                          (memq (if (consp variable) (car variable) variable)
                                '(kill-ring search-ring regexp-search-ring)))
                        savehist-additional-variables)))
    (when (boundp 'savehist-ignored-variables)
      (dolist (variable '(kill-ring search-ring regexp-search-ring))
        (add-to-list 'savehist-ignored-variables variable)))))

;; `backup-enable-predicate' and the auto-save setting are asked before any hook of the buffer has run.
(setq backup-enable-predicate
      (let ((before backup-enable-predicate))
        (lambda (name) (and (not (passdir-secret-p name)) (funcall before name)))))

(define-advice auto-save-mode (:before-until (&optional _) passdir)
  "No auto-save of a secret."
  (when (and (passdir-secret-p buffer-file-name) (not buffer-auto-save-file-name)) t))

(add-hook 'find-file-hook #'passdir-protect)
(add-hook 'after-set-visited-file-name-hook #'passdir-protect)

(defun passdir-not-recent-p (name)
  "Whether the file NAME may be remembered as a recent one."
  (not (passdir-secret-p name)))

(with-eval-after-load 'recentf
  (when (boundp 'recentf-exclude) (add-to-list 'recentf-exclude #'passdir-secret-p)))

(with-eval-after-load 'saveplace
  (define-advice save-place-to-alist (:before-until () passdir)
    "No place in a secret is remembered."
    (passdir-secret-p buffer-file-name)))

(provide 'passdir)
;;; passdir.el ends here
